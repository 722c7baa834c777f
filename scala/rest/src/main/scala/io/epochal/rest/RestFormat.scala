package io.epochal.rest

import java.util
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.EpochalException
import io.epochal.kit.sink.SinkTable
import io.epochal.kit.source.SourceTable
import io.epochal.rest.sink.{RestSinkOptions, RestSinkProvider}
import io.epochal.rest.source.{RestOptions, RestProvider}

/** `format("epochal-rest")`: one name for two independent connectors, the source ([[RestProvider]]) and the sink
  * ([[RestSinkProvider]]).
  *
  * Spark does not say whether a table is to be read or written, so the option names decide: those that only one of the
  * two has, and `checkpointLocation`, which only a streaming write has. Errors in that connector's options are thrown at
  * once. If no name decides, at least one of the two must be valid, and an error of the other is thrown on use.
  */
final class RestFormat extends TableProvider with DataSourceRegister {
  import RestFormat._

  private val source = new RestProvider
  private val sink = new RestSinkProvider

  override def shortName(): String = RestOptions.Format

  override def supportsExternalMetadata(): Boolean = true

  /** Called only for a reader without a schema. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = source.inferSchema(options)

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    val table = new RestTable(
      schema,
      source.getTable(schema, partitioning, properties).asInstanceOf[SourceTable],
      sink.getTable(schema, partitioning, properties).asInstanceOf[SinkTable])
    val problem =
      if (has(properties, sinkOnly)) table.sink.left.toOption
      else if (has(properties, sourceOnly)) table.source.left.toOption
      else table.source.left.toOption.flatMap(one => table.sink.left.toOption.map(likelier(one, _)))
    problem.foreach(throw _)
    table
  }
}

private object RestFormat {
  private val sourceNames = RestOptions.group.specs.map(_.name.toLowerCase(Locale.ROOT)).toSet
  private val sinkNames = RestSinkOptions.group.specs.map(_.name.toLowerCase(Locale.ROOT)).toSet

  val sourceOnly: Set[String] = sourceNames -- sinkNames
  val sinkOnly: Set[String] = sinkNames -- sourceNames + "checkpointlocation"

  private def has(options: util.Map[String, String], names: Set[String]): Boolean =
    options.keySet.asScala.exists(name => names(name.toLowerCase(Locale.ROOT)))

  /** Prefers the error with a suggestion, then the source's. */
  private def likelier(ofSource: EpochalException, ofSink: EpochalException): EpochalException =
    Seq(ofSource, ofSink).find(_.getMessage.contains("Did you mean")).getOrElse(ofSource)
}

/** The table of an API: the source's and the sink's table, or the errors in their options. Each is created on first use.
  */
final private class RestTable(querySchema: StructType, makeSource: => SourceTable, makeSink: => SinkTable)
    extends Table
    with SupportsRead
    with SupportsWrite
    with ReportsSinkMetrics {

  lazy val source: Either[EpochalException, SourceTable] = attempt(makeSource)
  lazy val sink: Either[EpochalException, SinkTable] = attempt(makeSink)

  private def attempt[A](make: => A): Either[EpochalException, A] =
    try Right(make)
    catch { case e: EpochalException => Left(e) }

  override def name(): String = source.orElse(sink).fold(_ => RestOptions.Format, _.name)

  /** The sink's description in every query progress. */
  override def toString: String = sink.orElse(source).fold(_ => RestOptions.Format, _.toString)

  override def metrics(): util.Map[String, String] = sink.fold(throw _, _.metrics())

  /** The source's columns, or for a sink the query's. */
  override def schema(): StructType = source.fold(_ => querySchema, _.schema)

  override def columns(): Array[Column] = schema().fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  override def capabilities(): util.Set[TableCapability] = {
    val all = util.EnumSet.of(
      TableCapability.BATCH_READ,
      TableCapability.MICRO_BATCH_READ,
      TableCapability.STREAMING_WRITE,
      TableCapability.BATCH_WRITE,
      TableCapability.TRUNCATE,
      TableCapability.ACCEPT_ANY_SCHEMA)
    source.foreach(table => all.addAll(table.capabilities()))
    all
  }

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    source.fold(throw _, _.newScanBuilder(options))

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = sink.fold(throw _, _.newWriteBuilder(info))
}
