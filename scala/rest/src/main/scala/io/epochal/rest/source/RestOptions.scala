package io.epochal.rest.source

import java.net.URI

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.hash.Sha256
import io.epochal.core.option.{OptionGroup, OptionType, OptionValues, SourceOptions}
import io.epochal.kit.access.SecretOptionList
import io.epochal.kit.record.{RecordFormat, RecordRules}
import io.epochal.rest.http._

/** The settings of a query over one list or many, on the driver; prints without secrets. What tasks need is in
  * [[ListRequests]].
  *
  * @param requests
  *   for the list, or with a name in place of each value that selects one
  * @param numPartitions
  *   None: Spark's default parallelism
  * @param fanOut
  *   the members, if these are the options of a template
  * @param lineage
  *   the resources whose records name the lists to read
  * @param since
  *   how records that have changed are requested
  */
final case class RestOptions(
    values: OptionValues,
    requests: ListRequests,
    numPartitions: Option[Int],
    fanOut: Option[FanOut] = None,
    lineage: Option[Lineage] = None,
    since: Option[Since] = None) {

  def errors: ListErrors = requests.errors
  def rules: RecordRules = requests.rules

  /** The identity in offsets. */
  def source: String = errors.source

  /** Whether received records are kept in the checkpoint, by option or by kind of pagination. */
  def journal: Boolean = requests.paging.isInstanceOf[ChainedPagination] || values(PollOptions.Journal) ||
    lineage.nonEmpty || since.nonEmpty

  /** The lists whose positions are in a [[MemberLog]]: those that records of a parent name, or one that is read again at
    * each poll.
    */
  def polledLineage: Option[Lineage] =
    lineage.orElse(since.filter(_ => fanOut.isEmpty).map(_ => Lineage.ofOneList(this)))

  /** The option by which it has several lists. */
  def severalBy: Option[String] = lineage.map(_ => "parent.url").orElse(fanOut.map(_ => "partitionParams"))

  /** The requests of a batch read, and of a stream's first poll. */
  def first: RestOptions = since.fold(this)(one => copy(requests = one.passRequests(requests, one.first)))

  /** Whether a list that a parent's record names is skipped if the API no longer has it. */
  def skipsGone: Boolean = values(Lineage.OnMemberGone) == "skip"

  /** Whether a list that has become shorter, or has shifted, is read again from its first record. */
  def restarts: Boolean = values.get(CountingOptions.Drift).contains("restart")

  /** Whether it can be read continuously: the pages of one list are received into the journal. */
  def followed: Boolean = fanOut.isEmpty && polledLineage.isEmpty && journal

  /** A copy in which these are the names of a row's values, unless responses have them. */
  private[rest] def withRowNames(names: Seq[String]): RestOptions =
    copy(requests = requests.withRowNames(names))

  override def toString: String = s"RestOptions($source)"
}

object RestOptions extends SecretOptionList {
  val Format = "epochal-rest"

  val Url = option("url", OptionType.string, required = true, sample = Some("https://api.example.com/comments"))(
    "URL of the records. Its query is sent, but never shown.")
  val Schema = option("schema", OptionType.string, sample = Some("id INT, name STRING"))(
    "The records' schema as DDL, unless given by .schema(…).")
  val InferSchema = option("inferSchema", OptionType.boolean, Some(false))(
    "Whether to infer the schema from the first page. The checkpoint keeps it, and a different one is refused.")
  val NumPartitions = option("numPartitions", OptionType.int(1))("Tasks per batch. Unset: Spark's default parallelism.")
  val group: OptionGroup = OptionGroup(
    Format,
    "Records of a REST API, resumed from Spark's checkpoint alone. Batch and micro-batch reads; with a journal also continuous and real-time.",
    Seq(Url, Schema, InferSchema) ++ RequestOptions.all ++ Seq(
      PageCall.RequestBody,
      PageCall.Method,
      FanOut.PartitionParams) ++ Lineage.all ++ PagingOptions.all ++ SinceOptions.all ++ PollOptions.all ++
      RecordOptions.all ++ BodyRules.all ++ Seq(NumPartitions) ++ HttpOptions.all ++ SourceOptions.all
  )

  def read(raw: Map[String, String]): Either[EpochalException, RestOptions] =
    Lineage
      .read(raw)
      .orElse(FanOut.read(raw))
      .getOrElse(single(raw).flatMap(Lineage.withColumns(_, Nil)))

  /** The options of one sequence of requests. */
  private[rest] def single(raw: Map[String, String]): Either[EpochalException, RestOptions] =
    for {
      values <- group.parse(raw)
      paging <- PagingOptions.read(values)
      headers <- HttpHeaders.of(Format, headers(values))
      endpoint <- Endpoint
        .of(values(Url), values.family(RequestOptions.Params).toSeq.sortBy(_._1), headers)
        .left
        .map(group.invalid(Url, Redaction.url(values(Url)), _))
      pageCall <- PageCall.read(values, paging, values.family(RequestOptions.Headers))
      userParameters = values.family(RequestOptions.Params).keySet ++ Endpoint.parameters(values(Url))
      _ <- PagingOptions.ownParameters(values, paging, pageCall, userParameters)
      rules <- RecordOptions.rules(values)
      errors <- BodyRules.read(values, Option.when(paging.kind == "graphql")(BodyRules.GraphQl))
      _ <- CountingOptions.check(values)
      _ <- RecordOptions.checkBodyFormat(values, paging)
      since <- SinceOptions.read(values, paging, userParameters ++ paging.parameters)
      _ <- values.consistent(!values(InferSchema) || !values.isSet(Schema))(
        "{option:schema}, {option:inferSchema=true}",
        "Give the schema, or let it be inferred.")
      http <- HttpOptions.settings(values, endpoint)
      failOnDataLoss = values(SourceOptions.FailOnDataLoss)
      source = values.get(SourceOptions.SourceId).getOrElse(identity(values, endpoint, paging, pageCall))
    } yield RestOptions(
      values,
      ListRequests(
        http.copy(
          text = Some(TextSettings(rules.format.lines.nonEmpty, values.get(RecordOptions.Encoding))),
          mayLackBody = values(RecordOptions.MissingRecords) == "empty",
          rules = errors),
        paging,
        pageCall,
        rules,
        EndRules(values(PagingOptions.EndOfList), values.get(PagingOptions.EmptyPages), values(PollOptions.MaxPages)),
        values(PollOptions.ConditionalRequests),
        ListErrors(
          endpoint,
          source,
          paging.kind,
          failOnDataLoss,
          values.get(CountingOptions.Drift).fold(failOnDataLoss)(_ == "fail"),
          values.get(PagingOptions.KeyField),
          rules.format.isInstanceOf[RecordFormat.Json])
      ),
      values.get(NumPartitions),
      since = since
    )

  private def headers(values: OptionValues): Map[String, String] = {
    val custom = values.family(RequestOptions.Headers)
    if (custom.keys.exists(_.equalsIgnoreCase("Accept"))) custom else custom ++ RecordOptions.accept(values)
  }

  /** Everything that selects the records. Parameters may be secret: the identity contains only their hash. */
  private def identity(values: OptionValues, endpoint: Endpoint, paging: Paging, pageCall: PageCall): String = {
    val query = Option(URI.create(Endpoint.withLiteralPercents(values(Url).trim)).getRawQuery).toSeq ++
      values.family(RequestOptions.Params).toSeq.sorted.map { case (name, value) => s"$name=$value" }
    val parts = Seq(paging.kind) ++
      paging.identity ++
      values.get(RecordOptions.Records).map(_.mkString(",")).filter(_.nonEmpty).map(at => s"records=$at") ++
      RecordOptions.identity(values) ++
      values.get(SinceOptions.Field).map(field => s"sinceField=$field") ++
      pageCall.body.map(body => s"body #${Sha256.hex(body.text, 6)}") ++
      Option.when(query.nonEmpty)(s"parameters #${Sha256.hex(query.mkString("&"), 6)}")
    s"$endpoint (${parts.mkString(", ")})"
  }
}
