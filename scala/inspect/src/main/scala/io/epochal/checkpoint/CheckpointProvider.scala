package io.epochal.checkpoint

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.SourceProvider
import io.epochal.kit.spark.SessionHadoop

/** `format("epochal-checkpoint")`: the offset log and the commit log of any query's checkpoint, as rows.
  *
  *   - `CheckpointProvider` (this file): the class that Spark finds by name, its one option and its table
  *   - [[CheckpointDirectory]]: finds and reads the files
  *   - [[OffsetLog]], [[CommitLog]]: parsers for the files, pure functions of their text
  *   - [[CheckpointRows]]: the columns
  *
  * A checkpoint has two small files for each of about a hundred epochs. The driver reads them when the plan runs. It writes nothing
  * and does not disturb a running query.
  */
final class CheckpointProvider extends SourceProvider[String](CheckpointOptions.group) {

  override protected def options(raw: Map[String, String]): Either[EpochalException, String] =
    CheckpointOptions.read(raw)

  override protected def schema(path: String): StructType = CheckpointRows.schema

  override protected def table(schema: StructType, path: String): Table = {
    requireSchema(CheckpointRows.schema, schema)
    new CheckpointTable(path)
  }
}

final private class CheckpointTable(path: String) extends Table with SupportsRead {

  override def name: String = CheckpointOptions.Format

  override def schema: StructType = CheckpointRows.schema

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new CheckpointScan(path)
}

/** Returns the rows on the driver, without a Spark job. */
final private class CheckpointScan(path: String) extends LocalScan {

  override def readSchema(): StructType = CheckpointRows.schema

  override def description(): String = s"${CheckpointOptions.Format}[$path]"

  override def rows(): Array[InternalRow] =
    CheckpointRows.of(new CheckpointDirectory(path, SessionHadoop.configuration).read()).toArray
}
