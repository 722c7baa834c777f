package io.epochal.rest.source

import java.net.URI

import io.epochal.core.error.{Conditions, EpochalException, Plural, Redaction}
import io.epochal.core.hash.Sha256
import io.epochal.core.option.{OptionGroup, OptionType, OptionValues, SourceOptions}
import io.epochal.kit.access.SecretOptionList
import io.epochal.kit.record.{PageScan, RecordFormat, RecordRules, RecordShape}
import io.epochal.rest.http._

/** The source's options, checked. Serialized to the executors; prints without secrets.
  *
  * @param values
  *   on the driver only
  * @param http
  *   the endpoint and the HTTP settings
  * @param paging
  *   how pages are requested
  * @param pageCall
  *   the request for a page
  * @param rules
  *   which records become rows
  * @param source
  *   the identity in offsets
  * @param numPartitions
  *   None: Spark's default parallelism
  * @param fanOut
  *   the members, if these are the options of a template
  * @param params
  *   the row of the table, if these are the options of a member
  * @param lineage
  *   the resources whose records name the lists to read
  * @param since
  *   how records that have changed are requested
  */
final case class RestOptions(
    @transient values: OptionValues,
    http: HttpSettings,
    paging: Paging,
    pageCall: PageCall,
    rules: RecordRules,
    source: String,
    numPartitions: Option[Int],
    fanOut: Option[FanOut] = None,
    params: Map[String, String] = Map.empty,
    @transient lineage: Option[Lineage] = None,
    @transient since: Option[Since] = None
) {

  /** Whether received records are kept in the checkpoint, by option or by kind of pagination. */
  val journal: Boolean =
    paging.isInstanceOf[ChainedPagination] || values(PollOptions.Journal) || lineage.nonEmpty || since.nonEmpty

  /** The lists whose positions are in a [[MemberLog]]: those that records of a parent name, or one that is read again at
    * each poll.
    */
  def polled: Option[Lineage] =
    lineage.orElse(since.filter(_ => fanOut.isEmpty).map(_ => Lineage.ofOneList(this)))

  /** The options for the requests of a batch read, and of a stream's first poll. */
  def first: RestOptions = since.fold(this)(one => one.asked(this, one.first))

  /** Whether a list that a parent's record names is skipped if the API no longer has it. */
  val skipsGone: Boolean = values(Lineage.OnMemberGone) == "skip"

  /** Maximum pages per poll, if pages name the next one. */
  val maxPages: Int = values(PollOptions.MaxPages)

  /** Whether a list may end without stating so. */
  val endAssumed: Boolean = values(PagingOptions.EndOfList) == "assumed"

  /** Whether a page that names itself as the next one is the last. */
  val repeatEnds: Boolean = values(PagingOptions.EndOfList) == "repeated"

  /** Whether a page without records is the last, even if it names a next one. */
  val emptyEnds: Boolean = values.get(PagingOptions.EmptyPages).contains("end")

  /** Maximum pages without records in a row that are skipped where no later poll continues after them. */
  val maxEmptyPages: Int =
    if (values.get(PagingOptions.EmptyPages).contains("skip")) Int.MaxValue else PagingOptions.MaxEmptyPages

  /** Whether a list that has become shorter, or has shifted, is read again from its first record. */
  val restarts: Boolean = values.get(CountingOptions.Drift).contains("restart")

  private val failOnDataLoss: Boolean = values(SourceOptions.FailOnDataLoss)
  private val driftFails: Boolean = values.get(CountingOptions.Drift).fold(failOnDataLoss)(_ == "fail")

  /** Whether it can be read continuously: the pages of one list are received into the journal. */
  def followed: Boolean = fanOut.isEmpty && polled.isEmpty && journal

  /** A copy for tasks. */
  def withoutFanOut: RestOptions = copy(fanOut = None)

  def endpoint: Endpoint = http.endpoint

  /** The origin of records in errors. */
  val place: String = endpoint.toString

  /** Scans a whole response; see [[PageScan.of]]. */
  private[rest] def scan(
      pointers: Seq[String] = Nil,
      key: Option[String] = None,
      json: Set[String] = Set.empty): PageScan =
    PageScan.of(rules.format, place, pointers, key, paging.isInstanceOf[ChainedPagination], json)

  /** A copy in which these are the names of a row's values, unless responses have them. */
  private[rest] def named(names: Seq[String]): RestOptions = rules.format match {
    case json @ RecordFormat.Json(_, _, Some(shape @ RecordShape(RecordShape.Rows(None, _), _, _))) =>
      val format = json.copy(shape = Some(shape.copy(kind = RecordShape.Rows(None, names))))
      copy(rules = rules.copy(format = format), fanOut = fanOut.map(_.named(names)))
    case _ => this
  }

  /** Whether a column needs the origin of a response. */
  private[rest] val keepsOrigin: Boolean = rules.origin.exists(OriginColumns.ofResponse.contains)

  @transient private[rest] lazy val own: OwnParameters = new OwnParameters(http)

  /** Whether the driver sends conditional requests, which servers support for GET only (RFC 9110, section 13.2). */
  val revalidates: Boolean = values(PollOptions.ConditionalRequests) && pageCall.isPlain &&
    !endpoint.headers.exists { case (name, _) => Validator.isCondition(name) }

  /** The pagination of a counted list. */
  def pagination: Pagination = paging match {
    case counted: Pagination => counted
    case other               => throw new IllegalStateException(s"pagination=${other.kind} counts no records")
  }

  /** The request for a page. Pages other than the first may be past the end; a missing first page is an error. */
  def call(page: PageRequest): HttpCall =
    pageCall.of(endpoint, pagination, page).copy(endAfter = if (page.first > 0) 1 else 0)

  /** The request for a page that a poll has found. A single response that it is missing is retried, so that no record is
    * lost.
    */
  def planned(page: PageRequest): HttpCall = {
    val single = call(page)
    single.copy(endAfter = 2 * single.endAfter)
  }

  /** Its address without possible secrets: user info, the URL's own query, parameters. */
  def shown(page: PageRequest): String = {
    val query = pageCall.query(page)
    if (query.isEmpty) endpoint.toString else s"$endpoint?$query"
  }

  /** The warning about lost records, if that is no failure.
    *
    * @throws EpochalException
    *   DATA_LOSS otherwise
    */
  def lost(from: Long, until: Long, reason: String, fails: Boolean = failOnDataLoss): String =
    SourceOptions.lost(source, fails)(from, until, reason)

  /** The warning about a list with fewer records than delivered, if that is no failure.
    *
    * @throws EpochalException
    *   DATA_LOSS otherwise
    */
  def drifted(has: Long, delivered: Long): String =
    lost(has, delivered, s"the API has only ${Plural.of(has, "record")} left", driftFails)

  private[rest] def incomplete(records: Long, part: NoPage.Incomplete): EpochalException =
    Conditions.ListIncomplete(
      "url" -> endpoint,
      "records" -> records,
      "reason" -> part.reason,
      "pagination" -> part.pagination)

  /** The warning about a list whose records differ from those delivered, if that is no failure.
    *
    * @throws EpochalException
    *   LIST_SHIFTED otherwise
    */
  def shifted(record: Long): String = {
    val key = values.get(PagingOptions.KeyField)
    val canHaveKey = key.isEmpty && rules.format.isInstanceOf[RecordFormat.Json]
    val condition = if (canHaveKey) Conditions.ListShifted else RestOptions.Shifted
    val change = key.fold("the record itself changed or gained a field")(pointer => s"its '$pointer' changed")
    val shift = condition("source" -> source, "record" -> record, "change" -> change)
    if (driftFails) throw shift else shift.getMessage
  }

  /** @param request
    *   the request, worded to follow "asked"
    * @param found
    *   the response, worded to follow "it returned"
    */
  def mismatch(request: String, found: String): EpochalException =
    Conditions.PaginationMismatch("url" -> endpoint, "asked" -> request, "found" -> found, "pagination" -> paging.kind)

  private[rest] def mismatch(page: PageRequest, found: String): EpochalException = mismatch(page.requestText, found)

  /** The error of an API that returns the same page for every request. */
  private[rest] def samePage(request: String): EpochalException =
    mismatch(request, s"the same page for every request: it ignores $selector")

  /** The part of a request that selects a counted page, for messages. */
  private[rest] def selector: String =
    if (pageCall.inUrl) s"the parameter '${paging.position}'"
    else "the placeholders of {option:requestBody}"

  /** @param request
    *   the request for the page, worded to follow "asked"
    * @param refusal
    *   the response, which does not prove that the list ends before the page
    */
  private[rest] def refused(request: String, refusal: Refusal): EpochalException =
    Conditions.PageRefused(
      "url" -> endpoint,
      "asked" -> request,
      "status" -> refusal.status,
      "body" -> refusal.body,
      "pagination" -> paging.kind)

  override def toString: String = s"RestOptions($source)"
}

object RestOptions extends SecretOptionList {
  val Format = "epochal-rest"

  /** LIST_SHIFTED where no `keyField` can be set. */
  private lazy val Shifted = Conditions.ListShifted.withHint(
    "Sort so that new records come last. {option:onDrift=warn} continues from here, " +
      "{option:onDrift=restart} reads the list again.")

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
      taken = values.family(RequestOptions.Params).keySet ++ Endpoint.parameters(values(Url))
      _ <- PagingOptions.ownParameters(values, paging, pageCall, taken)
      rules <- RecordOptions.rules(values)
      errors <- BodyRules.read(values, Option.when(paging.kind == "graphql")(BodyRules.GraphQl))
      _ <- CountingOptions.check(values)
      _ <- RecordOptions.followed(values, paging)
      since <- SinceOptions.read(values, paging, taken ++ paging.parameters)
      _ <- values.consistent(!values(InferSchema) || !values.isSet(Schema))(
        "{option:schema}, {option:inferSchema=true}",
        "Give the schema, or let it be inferred.")
      http <- HttpOptions.settings(values, endpoint)
    } yield RestOptions(
      values,
      http.copy(
        text = Some(TextSettings(rules.format.lines.nonEmpty, values.get(RecordOptions.Encoding))),
        mayLackBody = values(RecordOptions.MissingRecords) == "empty",
        rules = errors),
      paging,
      pageCall,
      rules,
      values.get(SourceOptions.SourceId).getOrElse(identity(values, endpoint, paging, pageCall)),
      values.get(NumPartitions),
      since = since)

  private def headers(values: OptionValues): Map[String, String] = {
    val custom = values.family(RequestOptions.Headers)
    if (custom.keys.exists(_.equalsIgnoreCase("Accept"))) custom else custom ++ RecordOptions.accept(values)
  }

  /** Everything that selects the records. Parameters may be secret: the identity contains only their hash. */
  private def identity(values: OptionValues, endpoint: Endpoint, paging: Paging, pageCall: PageCall): String = {
    val query = Option(URI.create(Endpoint.withLiteralPercents(values(Url).trim)).getRawQuery).toSeq ++
      values.family(RequestOptions.Params).toSeq.sorted.map { case (name, value) => s"$name=$value" }
    val parts = Seq(paging.kind) ++
      PagingOptions.identity(values, paging) ++
      values.get(RecordOptions.Records).map(_.mkString(",")).filter(_.nonEmpty).map(at => s"records=$at") ++
      RecordOptions.identity(values) ++
      values.get(SinceOptions.Field).map(field => s"sinceField=$field") ++
      pageCall.body.map(body => s"body #${Sha256.hex(body.text, 6)}") ++
      Option.when(query.nonEmpty)(s"parameters #${Sha256.hex(query.mkString("&"), 6)}")
    s"$endpoint (${parts.mkString(", ")})"
  }
}
