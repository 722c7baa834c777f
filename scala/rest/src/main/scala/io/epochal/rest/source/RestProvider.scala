package io.epochal.rest.source

import java.time.Clock

import scala.util.Using

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.record.{Body, RecordSchema, SchemaInference}
import io.epochal.kit.source.{SourceProvider, SourceTable}
import io.epochal.rest.http.{HttpClient, HttpCounters}

/** `format("epochal-rest")` as a source: the records of a REST API that lists them as JSON or CSV.
  *
  *   - [[RestOptions]], [[RecordSchema]]: the options, checked when the DataFrame is built
  *   - [[SchemaInference]]: infers the schema if none is given
  *   - [[Pagination]]: which request returns which records; [[RestPlan]]: which task reads which
  *   - [[ChainedPagination]], [[TimeWindow]]: how a page names the next one
  *   - [[Step]]: the consequence of a response, by a [[PageChain]] or a [[CountedList]]; [[PageRequests]] answers requests
  *   - [[RestSource]] (driver): how many records there are, by a [[RestSupply]]: found by an [[EndSearch]], or
  *     journalled
  *   - [[FanOut]]: several sequences of requests in one stream, a [[FanOutSupply]] of supplies
  *   - [[RestReader]] (executor): pages, requested by [[PageReader]] or read by [[JournalPages]], to rows
  *   - [[RecordFormat]], [[RecordRows]]: the records of one response, and which of them become rows
  *   - [[io.epochal.rest.http.HttpClient]]: one request, with its retries, over the connections of the JVM
  */
final class RestProvider extends SourceProvider[RestOptions](RestOptions.group) {

  /** The schema that was inferred for the next table. */
  private var inferredSchema = Option.empty[StructType]

  private val columns = new RecordSchema(RestOptions.Format)

  override protected def options(raw: Map[String, String]): Either[EpochalException, RestOptions] =
    RestOptions.read(raw)

  override protected def schema(options: RestOptions): StructType = options.values.get(RestOptions.Schema) match {
    case Some(ddl) => columns.parse(ddl).fold(throw _, identity)
    case None if options.values(RestOptions.InferSchema) =>
      inferredSchema = Some(
        infer(options.lineage.fold(options.fanOut.fold(options)(_.first(options)).first.requests)(firstMember)))
      inferredSchema.get
    case None => throw Conditions.SchemaRequired("format" -> RestOptions.Format)
  }

  override protected def table(schema: StructType, options: RestOptions): Table = {
    if (options.values(RestOptions.InferSchema) && !inferredSchema.contains(schema))
      throw RestOptions.group
        .conflict(".schema(...), {option:inferSchema=true}", "Give the schema, or let it be inferred.")
    val typedOptions = ParamColumns.withTypes(options, schema)
    val all = columns.of(schema, options.values.get(RestOptions.Schema), typedOptions.rules).fold(throw _, identity)
    new SourceTable(
      s"${RestOptions.Format} ${options.requests.endpoint}",
      all,
      () =>
        new RestScanBuilder(
          typedOptions.withRowNames(all.fieldNames.toSeq.diff(typedOptions.rules.apart.map(_.name))),
          all),
      options.followed)
  }

  /** The first list with records, of those that the parents name. */
  private def firstMember(lineage: Lineage): ListRequests =
    Using
      .resource(new MemberRequests(lineage, new HttpCounters, Clock.systemUTC(), 1))(new MemberBatch(_).first())
      .getOrElse(throw inferenceFailure(lineage.leaf.template.requests, "its parent names no list with records"))

  /** Requests the first page in the calling thread and lets Spark infer the schema of its records.
    *
    * @throws EpochalException
    *   SCHEMA_INFERENCE_FAILED, or one of the conditions of a request
    */
  private def infer(requests: ListRequests): StructType = {
    val call = requests.paging match {
      case chain: ChainedPagination => requests.pageCall.of(requests.endpoint, chain, None)
      case _                        => requests.call(requests.pagination.request(0))
    }
    Using.resource(Body.ofPage()) { body =>
      val records = Using.resource(new HttpClient(requests.http, new HttpCounters)) { client =>
        client.call(call, body, first = true)(_ => requests.scan().read(body).records)
      }
      if (records == 0) throw inferenceFailure(requests, "it has no records")
      SchemaInference
        .of(requests.rules.format, body, requests.place)
        .fold(reason => throw inferenceFailure(requests, reason), identity)
    }
  }

  private def inferenceFailure(requests: ListRequests, reason: String): EpochalException =
    Conditions.SchemaInferenceFailed("format" -> RestOptions.Format, "url" -> requests.endpoint, "reason" -> reason)
}
