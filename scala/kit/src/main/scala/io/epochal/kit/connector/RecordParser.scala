package io.epochal.kit.connector

import java.util
import java.util.concurrent.Callable

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import io.epochal.core.annotation.Experimental
import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType}
import io.epochal.kit.record._

/** Parses JSON or CSV records into rows, with the options, rules and code of Epochal's own sources. A connector whose origin
  * delivers bytes declares [[options]] beside its own, implements `schema` with [[schema]], and returns [[rows]] from
  * `Origin.read`.
  *
  * Each record stands alone: a line without its line break, or a message. `parseMode` decides about records that do not fit.
  */
@Experimental
object RecordParser {

  private val Kind: OptionSpec[String] =
    OptionSpec("format", OptionType.oneOf("json", "csv"), "What a record is.", Some("json"))
  private val TimeZone: OptionSpec[String] =
    OptionSpec("timeZone", OptionType.string, "Where a time is that names no zone.", Some("UTC"))

  /** `format`, `schema`, `parseMode`, `columnNameOfCorruptRecord`, `rescuedDataColumn`, `requireColumns`, `sep`, `timeZone`. */
  val options: util.List[OptionSpec[_]] = (Seq(Kind, TimeZone) ++ LoneRecordOptions.all).asJava

  /** The columns: those of the option `schema`, and after them the ones that `parseMode` and `rescuedDataColumn` add.
    *
    * @throws EpochalException
    *   OPTION_REQUIRED, SCHEMA_INVALID, OPTION_CONFLICT
    */
  def schema(settings: Settings): StructType = {
    val columns = new RecordSchema(settings.values.group.format)
    val ddl = settings.values
      .get(LoneRecordOptions.Schema)
      .getOrElse(throw LoneRecordOptions.lacksSchema(settings.values.group.format))
    (for {
      rules <- rules(settings)
      ddlSchema <- columns.parse(ddl)
      all <- columns.of(ddlSchema, None, rules)
    } yield all).fold(throw _, identity)
  }

  /** Rows of records, in a task.
    *
    * @param schema
    *   as passed to `open`
    * @param records
    *   returns the bytes of the next record on each call, and null after the last
    * @param resource
    *   closed with the reader
    */
  def rows(
      settings: Settings,
      schema: StructType,
      records: Callable[Array[Byte]],
      resource: AutoCloseable): RowReader = {
    val rowRules = rules(settings).fold(throw _, identity)
    val place = settings.values.group.format
    val columns = new RecordColumns(RecordReading(schema, settings.values(TimeZone)), rowRules)
    val supply = records
    val lone = new LoneRecords(rowRules.format, place) {
      private var recordCount = 0L
      override def index: Long = recordCount - 1
      override def next(): Boolean = {
        val bytes = supply.call()
        if (bytes != null) {
          set(bytes, 0, bytes.length)
          recordCount += 1
        }
        bytes != null
      }
    }
    val rows = new RecordRows(columns, rowRules, lone, place)
    new RowReader {
      override def next(): Boolean = rows.next()
      override def get(): InternalRow = rows.row
      override def close(): Unit =
        try rows.close()
        finally resource.close()
    }
  }

  private def rules(settings: Settings): Either[EpochalException, RecordRules] =
    LoneRecordOptions.read(settings.values, settings.values(Kind))
}
