package io.epochal.checkpoint

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.source.SourceProvider
import io.epochal.kit.spark.SessionHadoop

/** `format("epochal-checkpoint")`: the offset log and the commit log of any query's checkpoint, as rows.
  *
  *   - `CheckpointProvider` (this file): the class that Spark finds by name
  *   - [[CheckpointOptions]]: the one option
  *   - [[CheckpointDirectory]]: finds and reads the files
  *   - [[OffsetLog]], [[CommitLog]]: parsers for the files, pure functions of their text
  *   - [[CheckpointRows]]: the columns
  *
  * A checkpoint has two small files for each of about a hundred epochs. The driver reads them when the plan runs. It writes nothing
  * and does not disturb a running query.
  */
final class CheckpointProvider extends SourceProvider[CheckpointOptions](CheckpointOptions.group) {

  override protected def options(raw: Map[String, String]): Either[EpochalException, CheckpointOptions] =
    CheckpointOptions.read(raw)

  override protected def schema(options: CheckpointOptions): StructType = CheckpointRows.schema

  override protected def table(schema: StructType, options: CheckpointOptions): Table =
    if (schema == CheckpointRows.schema) new CheckpointTable(options)
    else
      throw Conditions.SchemaUnsupported(
        "format" -> CheckpointOptions.Format,
        "columns" -> CheckpointRows.schema.toDDL,
        "schema" -> schema.toDDL)
}

final private class CheckpointTable(options: CheckpointOptions) extends Table with SupportsRead {

  override def name: String = CheckpointOptions.Format

  override def columns(): Array[Column] =
    CheckpointRows.schema.map(field => Column.create(field.name, field.dataType, field.nullable)).toArray

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder = () => new CheckpointScan(options)
}

/** Returns the rows on the driver, without a Spark job. */
final private class CheckpointScan(options: CheckpointOptions) extends LocalScan {

  override def readSchema(): StructType = CheckpointRows.schema

  override def description(): String = s"${CheckpointOptions.Format}[${options.path}]"

  override def rows(): Array[InternalRow] = {
    val checkpoint = new CheckpointDirectory(options.path, SessionHadoop.configuration).read()
    CheckpointRows.of(checkpoint).toArray
  }
}
