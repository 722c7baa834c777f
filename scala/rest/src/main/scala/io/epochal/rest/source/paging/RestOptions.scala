package io.epochal.rest.source.paging

import java.net.URI

import io.epochal.core.error.{Conditions, EpochalException, Plural, Redaction}
import io.epochal.core.hash.Sha256
import io.epochal.core.limit.ReadLimit
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues, SourceOptions}
import io.epochal.kit.record.{PageScan, RecordRules}
import io.epochal.rest.http.request.{Endpoint, HttpCall, HttpHeaders, OptionList, RequestOptions, Validator}
import io.epochal.rest.http.{HttpOptions, HttpSettings}

/** The source's options, checked. Travels to the executors; prints without secrets.
  *
  * @param http
  *   where requests go, and how
  * @param paging
  *   how pages are requested
  * @param journal
  *   whether what is received is kept in the checkpoint: wished for, or needed
  * @param maxPages
  *   of one batch, where pages name the next one
  * @param endAssumed
  *   whether a list may end without saying so
  * @param counting
  *   what is known of a list beside its pages, where they are found by counting records
  * @param refresh
  *   how the end is looked at again
  * @param pageCall
  *   the request for a page that is found by counting records
  * @param rules
  *   what of a response becomes rows
  * @param numPartitions
  *   None: as many as Spark's default parallelism
  * @param schema
  *   DDL, where it came as an option
  * @param inferSchema
  *   whether the schema is that of the first page
  * @param source
  *   the identity that offsets carry
  * @param eventTimeColumn
  *   None: rows are not looked at
  * @param fanOut
  *   the members, where these are the options of a template
  * @param params
  *   the row of the table, where these are the options of a member
  */
final case class RestOptions(
    http: HttpSettings,
    paging: Paging,
    journal: Boolean,
    maxPages: Int,
    endAssumed: Boolean,
    counting: Counting,
    refresh: Refresh,
    pageCall: PageCall,
    rules: RecordRules,
    numPartitions: Option[Int],
    limit: ReadLimit,
    failOnDataLoss: Boolean,
    schema: Option[String],
    inferSchema: Boolean,
    source: String,
    eventTimeColumn: Option[String],
    fanOut: Option[FanOut] = None,
    params: Map[String, String] = Map.empty
) {

  /** Whether tasks without an end can read it: the pages of one list are received into the journal. */
  def followed: Boolean = fanOut.isEmpty && (journal || paging.isInstanceOf[ChainedPagination])

  /** Without what only the driver needs. */
  def alone: RestOptions = copy(fanOut = None)

  def endpoint: Endpoint = http.endpoint

  /** Names the origin of records in errors. */
  val place: String = endpoint.toString

  /** Reads the page of a response from end to end; as [[PageScan.of]]. */
  private[rest] def scan(pointers: Seq[String] = Nil, key: Option[String] = None): PageScan =
    PageScan.of(rules.format, place, pointers, key, nullIsEmpty = paging.isInstanceOf[ChainedPagination])

  @transient private[rest] lazy val own: OwnParameters = new OwnParameters(http)

  /** Whether the driver sends conditional requests, which servers support for GET only (RFC 9110, section 13.2). */
  def revalidates: Boolean = refresh.conditional && pageCall.body.isEmpty &&
    !endpoint.headers.exists { case (name, _) => Validator.isAskedBy(name) }

  /** Where pages are found by counting records. */
  def pagination: Pagination = paging match {
    case counted: Pagination => counted
    case other               => throw new IllegalStateException(s"pagination=${other.kind} counts no records")
  }

  /** The request for a page. One behind the first may be past the end; a first page that is not there is a mistake. */
  def call(page: PageRequest): HttpCall =
    pageCall.of(endpoint, pagination, page).copy(endAfter = if (page.first > 0) 1 else 0)

  /** The request for a page that a poll found there: a single response that it is not there loses no record. */
  def planned(page: PageRequest): HttpCall = {
    val asked = call(page)
    asked.copy(endAfter = 2 * asked.endAfter)
  }

  /** Its address without what may be secret: user info, the URL's own query, parameters. */
  def shown(page: PageRequest): String = {
    val query = pageCall.query(page)
    if (query.isEmpty) endpoint.toString else s"$endpoint?$query"
  }

  /** The warning about records that are gone, where that is no failure.
    *
    * @throws EpochalException
    *   DATA_LOSS, where it is
    */
  def lost(from: Long, until: Long, reason: String): String = {
    val loss = Conditions.DataLoss("source" -> source, "from" -> from, "until" -> until, "reason" -> reason)
    if (failOnDataLoss) throw loss else loss.problem
  }

  /** Whether a list that has become shorter, or has shifted, is read again from its first record. */
  def restarts: Boolean = counting.onDrift.contains(OnDrift.Restart)

  /** The warning about a list with fewer records than were delivered, where that is no failure.
    *
    * @throws EpochalException
    *   DATA_LOSS, where it is
    */
  def drifted(has: Long, delivered: Long): String = {
    val reason = s"the API has only ${Plural.of(has, "record")} left"
    copy(failOnDataLoss = driftFails).lost(has, delivered, reason)
  }

  private[rest] def incomplete(records: Long, part: NoPage.Incomplete): EpochalException =
    Conditions.ListIncomplete(
      "url" -> endpoint,
      "records" -> records,
      "reason" -> part.reason,
      "pagination" -> part.pagination)

  /** The warning about a list whose records differ from those delivered, where that is no failure.
    *
    * @throws EpochalException
    *   LIST_SHIFTED, where it is
    */
  def shifted(record: Long): String = {
    val shift = Conditions.ListShifted("source" -> source, "record" -> record)
    if (driftFails) throw shift else shift.getMessage
  }

  private def driftFails: Boolean = counting.onDrift.fold(failOnDataLoss)(_ == OnDrift.Fail)

  /** @param asked
    *   the request and what it requested, after "asked"
    * @param found
    *   what came, after "it returned"
    */
  def mismatch(asked: String, found: String): EpochalException =
    Conditions.PaginationMismatch("url" -> endpoint, "asked" -> asked, "found" -> found, "pagination" -> paging.kind)

  private[rest] def mismatch(page: PageRequest, found: String): EpochalException = mismatch(page.asked, found)
}

object RestOptions extends OptionList {
  val Format = "epochal-rest"

  val Url: OptionSpec[String] =
    option("url", OptionType.string, required = true, sample = Some("https://api.example.com/comments"))(
      "URL of the records. Its query is sent, but never shown.")
  val Schema: OptionSpec[String] = option("schema", OptionType.string, sample = Some("id INT, name STRING"))(
    "The records' schema as DDL, unless given by .schema(…).")
  val InferSchema: OptionSpec[Boolean] = option("inferSchema", OptionType.boolean, Some(false))(
    "Whether to infer the schema from the first page. The checkpoint keeps it, and a different one is refused.")
  val NumPartitions: OptionSpec[Int] =
    option("numPartitions", OptionType.int(1))("Tasks per batch. Unset: Spark's default parallelism.")
  val group: OptionGroup = OptionGroup(
    Format,
    "Records of a REST API, resumed from Spark's checkpoint alone. Batch and micro-batch reads.",
    Seq(Url, Schema, InferSchema) ++ RequestOptions.all ++ Seq(
      PageCall.RequestBody,
      FanOut.PartitionParams) ++ PagingOptions.all ++ PollOptions.all ++
      RecordOptions.all ++ Seq(NumPartitions) ++ HttpOptions.all ++ SourceOptions.all
  )

  def read(raw: Map[String, String]): Either[EpochalException, RestOptions] = FanOut.read(raw).getOrElse(single(raw))

  /** Of one sequence of requests. */
  private[rest] def single(raw: Map[String, String]): Either[EpochalException, RestOptions] =
    for {
      values <- group.parse(raw)
      paging <- PagingOptions.read(values)
      headers <- HttpHeaders.of(Format, headers(values))
      endpoint <- Endpoint
        .of(values(Url), values.family(RequestOptions.Params).toSeq.sortBy(_._1), headers)
        .left
        .map(expected => urlInvalid(values, expected))
      pageCall <- PageCall.read(values, paging, values.family(RequestOptions.Headers))
      taken = values.family(RequestOptions.Params).keySet ++ Endpoint.parameters(values(Url))
      _ <- PagingOptions.ownParameters(values, paging, pageCall, taken)
      rules <- RecordOptions.rules(values)
      counting <- CountingOptions.read(values)
      journal = paging.isInstanceOf[ChainedPagination] || values(PollOptions.Journal)
      _ <- RecordOptions.followed(values, paging)
      _ <- values.consistent(!values(InferSchema) || !values.isSet(Schema))(
        "{option:schema}, {option:inferSchema=true}",
        "Give the schema, or let it be inferred.")
      http <- HttpOptions.settings(values, endpoint)
    } yield RestOptions(
      http = http.copy(byLines = rules.format.lines.nonEmpty),
      paging = paging,
      journal = journal,
      maxPages = values(PollOptions.MaxPages),
      endAssumed = values(PagingOptions.EndOfList) == "assumed",
      counting = counting,
      refresh = PollOptions.read(values),
      pageCall = pageCall,
      rules = rules,
      numPartitions = values.get(NumPartitions),
      limit = SourceOptions.limit(values),
      failOnDataLoss = values(SourceOptions.FailOnDataLoss),
      schema = values.get(Schema),
      inferSchema = values(InferSchema),
      source = values.get(SourceOptions.SourceId).getOrElse(identity(values, endpoint, paging)),
      eventTimeColumn = values.get(SourceOptions.EventTimeColumn)
    )

  private def headers(values: OptionValues): Map[String, String] = {
    val wanted = values.family(RequestOptions.Headers)
    if (wanted.keys.exists(_.equalsIgnoreCase("Accept"))) wanted else wanted ++ RecordOptions.accept(values)
  }

  /** Everything that selects the records. Parameters may be secret: the identity contains only their hash. */
  private def identity(values: OptionValues, endpoint: Endpoint, paging: Paging): String = {
    val query = Option(URI.create(values(Url).trim).getRawQuery).toSeq ++
      values.family(RequestOptions.Params).toSeq.sorted.map { case (name, value) => s"$name=$value" }
    val parts = Seq(paging.kind) ++
      PagingOptions.identity(values, paging) ++
      values.get(RecordOptions.Records).filter(_.nonEmpty).map(pointer => s"records=$pointer") ++
      RecordOptions.identity(values) ++
      values.get(PageCall.RequestBody).map(body => s"body #${Sha256.hex(body, 6)}") ++
      Option.when(query.nonEmpty)(s"parameters #${Sha256.hex(query.mkString("&"), 6)}")
    s"$endpoint (${parts.mkString(", ")})"
  }

  private def urlInvalid(values: OptionValues, expected: String): EpochalException =
    values.group.invalid(Url, Redaction.url(values(Url)), expected)
}
