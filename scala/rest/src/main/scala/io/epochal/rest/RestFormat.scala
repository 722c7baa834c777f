package io.epochal.rest

import java.util
import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.EpochalException
import io.epochal.rest.sink.{RestSinkOptions, RestSinkProvider}
import io.epochal.rest.source.RestProvider
import io.epochal.rest.source.paging.RestOptions

/** `format("epochal-rest")`: one name for the source ([[RestProvider]]) and the sink ([[RestSinkProvider]]), which know
  * nothing of each other.
  *
  * Spark asks for a table alike whether it is to be read or written, so the options' names tell: those that only one of the
  * two has, and `checkpointLocation`, which only a streaming write has. What they tell of is checked at once. Where they tell
  * nothing, one of the two must be in order, and what is wrong with the other shows when it is asked for.
  */
final class RestFormat extends TableProvider with DataSourceRegister {
  import RestFormat._

  private val source = new RestProvider
  private val sink = new RestSinkProvider

  override def shortName(): String = RestOptions.Format

  override def supportsExternalMetadata(): Boolean = true

  /** Asked only by a reader that was given no schema. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = source.inferSchema(options)

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    val readable = new Half(opened(source, schema, partitioning, properties))
    val writable = new Half(opened(sink, schema, partitioning, properties))
    val names = properties.keySet.asScala.toSet
    val problem =
      if (tells(names, sinkOnly)) writable.problem
      else if (tells(names, sourceOnly)) readable.problem
      else Option.when(readable.problem.nonEmpty && writable.problem.nonEmpty)(likelier(readable, writable))
    problem.foreach(throw _)
    new RestTable(schema, readable, writable)
  }

  private def opened(
      provider: TableProvider,
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): () => Table = () => provider.getTable(schema, partitioning, properties)
}

private object RestFormat {
  private val sourceNames = RestOptions.group.specs.map(_.name.toLowerCase(Locale.ROOT)).toSet
  private val sinkNames = RestSinkOptions.group.specs.map(_.name.toLowerCase(Locale.ROOT)).toSet

  val sourceOnly: Set[String] = sourceNames -- sinkNames
  val sinkOnly: Set[String] = sinkNames -- sourceNames + "checkpointlocation"

  private def tells(names: Set[String], only: Set[String]): Boolean =
    names.exists(name => only(name.toLowerCase(Locale.ROOT)))

  /** Of two errors the one that knows what was meant, or that of the source. */
  private def likelier(readable: Half, writable: Half): EpochalException = {
    val problems = Seq(readable, writable).flatMap(_.problem)
    problems.find(_.getMessage.contains("Did you mean")).getOrElse(problems.head)
  }
}

/** The table of one of the two, made when it is first asked for. */
final private[rest] class Half(make: () => Table) {
  private lazy val made: Either[EpochalException, Table] =
    try Right(make())
    catch { case e: EpochalException => Left(e) }

  def problem: Option[EpochalException] = made.left.toOption

  /** @throws EpochalException
    *   what is wrong with the options for this purpose
    */
  def required: Table = made.fold(throw _, identity)
}
