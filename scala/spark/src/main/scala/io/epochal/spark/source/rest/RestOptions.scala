package io.epochal.spark.source.rest

import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.time.Duration

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.limit.ReadLimit
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues, RetryOptions, SourceOptions}
import io.epochal.spark.http.{BodyBuffer, Endpoint, HttpCall, HttpHeaders, HttpSettings}

/** What a query asked of the source, checked. Travels to the executors; prints without secrets.
  *
  * @param http
  *   where requests go, and how
  * @param pageCall
  *   how a page is asked for
  * @param rules
  *   what of an answer becomes rows
  * @param numPartitions
  *   None: as many as Spark's default parallelism
  * @param schema
  *   DDL, where it came as an option
  * @param inferSchema
  *   whether the schema is that of the first page
  * @param source
  *   the identity that offsets carry
  */
final case class RestOptions(
    http: HttpSettings,
    pagination: Pagination,
    pageCall: PageCall,
    rules: RecordRules,
    numPartitions: Option[Int],
    limit: ReadLimit,
    failOnDataLoss: Boolean,
    schema: Option[String],
    inferSchema: Boolean,
    source: String
) {

  def endpoint: Endpoint = http.endpoint

  /** The request for a page. */
  def call(page: PageRequest): HttpCall = pageCall.of(endpoint, pagination, page)

  /** Its address without what may be secret: user info, the URL's own query, parameters. */
  def shown(page: PageRequest): String = {
    val query = pageCall.query(page)
    if (query.isEmpty) endpoint.toString else s"$endpoint?$query"
  }

  def mismatch(reason: String): EpochalException =
    Conditions.PaginationMismatch("url" -> endpoint, "reason" -> reason, "pagination" -> pagination.kind)
}

object RestOptions {
  val Format = "epochal-rest"

  val Url: OptionSpec[String] = OptionSpec(
    "url",
    OptionType.string,
    "Address of the list of records. A query in it is kept, and is shown nowhere.",
    required = true,
    sample = Some("https://api.example.com/comments"))
  val Headers: OptionSpec[String] =
    OptionSpec(
      "headers.*",
      OptionType.string,
      "Headers of every request: headers.Authorization and so on.",
      secret = true)
  val Params: OptionSpec[String] = OptionSpec(
    "params.*",
    OptionType.string,
    "Parameters of every request, encoded and added to the URL's query.",
    secret = true)
  val PaginationKind: OptionSpec[String] = OptionSpec(
    "pagination",
    OptionType.oneOf("none", "offset", "page"),
    "How the API is asked for a part of its records: all in one answer, by offset and limit, or by page number.",
    Some("none"))
  val OffsetParam: OptionSpec[String] =
    OptionSpec(
      "offsetParam",
      OptionType.string,
      "Parameter with the records to skip (pagination=offset).",
      Some("_start"))
  val LimitParam: OptionSpec[String] =
    OptionSpec(
      "limitParam",
      OptionType.string,
      "Parameter with the records to give (pagination=offset).",
      Some("_limit"))
  val PageSize: OptionSpec[Int] =
    OptionSpec("pageSize", OptionType.int(1), "Records of one answer (pagination=offset, page).", Some(100))
  val PageParam: OptionSpec[String] =
    OptionSpec("pageParam", OptionType.string, "Parameter with the page's number (pagination=page).", Some("page"))
  val PageSizeParam: OptionSpec[String] =
    OptionSpec(
      "pageSizeParam",
      OptionType.string,
      "Parameter with the page's size (pagination=page).",
      Some("per_page"))
  val FirstPage: OptionSpec[Int] =
    OptionSpec("firstPage", OptionType.int(0), "Number of the first page (pagination=page).", Some(1))
  val Schema: OptionSpec[String] = OptionSpec(
    "schema",
    OptionType.string,
    "The records' schema as DDL, where .schema(...) is not given.",
    sample = Some("id INT, name STRING"))
  val NumPartitions: OptionSpec[Int] =
    OptionSpec("numPartitions", OptionType.int(1), "Tasks that fetch a batch. Unset: Spark's default parallelism.")
  val Timeout: OptionSpec[Duration] = OptionSpec(
    "timeout",
    OptionType.duration,
    "How long to wait for a connection, and for the server's next bytes.",
    Some(Duration.ofSeconds(30)))
  val MaxResponseBytes: OptionSpec[Long] = OptionSpec(
    "maxResponseBytes",
    OptionType.bytes,
    "Largest answer that is read, after decompression; up to 2g.",
    Some(64L << 20))

  val group: OptionGroup = OptionGroup(
    Format,
    "Records of a REST API, resumed from Spark's checkpoint alone. Batch and micro-batch reads.",
    Seq(
      Url,
      Schema,
      RecordOptions.InferSchema,
      Headers,
      Params,
      PageCall.RequestBody,
      PaginationKind,
      OffsetParam,
      LimitParam,
      PageSize,
      PageParam,
      PageSizeParam,
      FirstPage)
      ++ RecordOptions.all ++ Seq(NumPartitions, Timeout, MaxResponseBytes) ++ RetryOptions.all ++ SourceOptions.all)

  def read(raw: Map[String, String]): Either[EpochalException, RestOptions] =
    for {
      values <- group.parse(raw)
      pagination <- pagination(values)
      headers <- HttpHeaders.of(Format, headers(values))
      endpoint <- Endpoint
        .of(values(Url), values.family(Params).toSeq.sortBy(_._1), headers)
        .left
        .map(expected => urlInvalid(values, expected))
      pageCall <- PageCall.read(values, pagination, values.family(Headers))
      _ <- if (pageCall.inUrl) ownParameters(values, pagination) else noParameters(values)
      _ <- HttpHeaders.oneAuthorization(Format, endpoint)
      rules <- RecordOptions.rules(values)
      _ <- Either.cond(
        !values(RecordOptions.InferSchema) || !values.isSet(Schema),
        (),
        conflict("schema, inferSchema=true", "Give the schema, or let it be inferred."))
    } yield RestOptions(
      HttpSettings(
        endpoint,
        values(Timeout),
        RetryOptions.settings(values),
        math.min(values(MaxResponseBytes), BodyBuffer.MaxBytes)),
      pagination,
      pageCall,
      rules,
      values.get(NumPartitions),
      SourceOptions.limit(values),
      values(SourceOptions.FailOnDataLoss),
      values.get(Schema),
      values(RecordOptions.InferSchema),
      values.get(SourceOptions.SourceId).getOrElse(identity(values, endpoint, pagination))
    )

  private def headers(values: OptionValues): Map[String, String] = {
    val wanted = values.family(Headers)
    if (wanted.keys.exists(_.equalsIgnoreCase("Accept"))) wanted else wanted ++ RecordOptions.accept(values)
  }

  /** Whatever selects the records. Parameters may be secret: only a hash of them is told. */
  private def identity(values: OptionValues, endpoint: Endpoint, pagination: Pagination): String = {
    val query = Option(URI.create(values(Url).trim).getRawQuery).toSeq ++
      values.family(Params).toSeq.sorted.map { case (name, value) => s"$name=$value" }
    val parts = Seq(pagination.kind) ++
      Option.when(pagination.isInstanceOf[Pagination.ByPage])(s"firstPage=${values(FirstPage)}") ++
      values.get(RecordOptions.Records).filter(_.nonEmpty).map(pointer => s"records=$pointer") ++
      RecordOptions.identity(values) ++
      values.get(PageCall.RequestBody).map(body => s"body #${shortHash(body)}") ++
      Option.when(query.nonEmpty)(s"parameters #${shortHash(query.mkString("&"))}")
    s"$endpoint (${parts.mkString(", ")})"
  }

  /** 12 hexadecimal digits of SHA-256. */
  private def shortHash(text: String): String =
    MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)).take(6).map(b => f"$b%02x").mkString

  /** Each kind of pagination with the options that only it has. */
  private val kinds: Map[String, Seq[OptionSpec[_]]] = Map(
    "none" -> Seq.empty,
    "offset" -> Seq(OffsetParam, LimitParam, PageSize),
    "page" -> Seq(PageParam, PageSizeParam, FirstPage, PageSize))

  private def pagination(values: OptionValues): Either[EpochalException, Pagination] = {
    val kind = values(PaginationKind)
    val strange = kinds.values.flatten.toSeq.distinct.filterNot(kinds(kind).contains).filter(values.isSet(_))
    Either.cond(
      strange.isEmpty,
      kind match {
        case "offset" => Pagination.ByOffset(values(OffsetParam), values(LimitParam), values(PageSize).toLong)
        case "page" =>
          Pagination.ByPage(values(PageParam), values(PageSizeParam), values(FirstPage).toLong, values(PageSize).toLong)
        case _ => Pagination.Whole
      }, {
        val needed = kinds.collect { case (other, specs) if strange.exists(specs.contains) => other }.toSeq.sorted
        conflict(
          s"pagination=$kind, ${strange.map(_.name).mkString(", ")}",
          s"Set pagination=${needed.mkString(" or ")}, or leave ${strange.map(_.name).mkString(", ")} out.")
      })
  }

  /** A page that the body tells has no parameters. */
  private def noParameters(values: OptionValues): Either[EpochalException, Unit] =
    Seq(OffsetParam, LimitParam, PageParam, PageSizeParam)
      .find(values.isSet(_))
      .map(spec => conflict(s"${spec.name}, requestBody that tells the page", s"Leave ${spec.name} out."))
      .toLeft(())

  /** The parameters that tell a page are ours to set. */
  private def ownParameters(values: OptionValues, pagination: Pagination): Either[EpochalException, Unit] = {
    val taken = values.family(Params).keySet ++ Endpoint.parameters(values(Url))
    val ours = pagination match {
      case Pagination.Whole                 => Nil
      case Pagination.ByOffset(from, n, _)  => Seq(from, n)
      case Pagination.ByPage(page, n, _, _) => Seq(page, n)
    }
    ours
      .find(taken)
      .map(name =>
        conflict(s"pagination=${pagination.kind}, the parameter '$name'", s"Take '$name' out of url and params."))
      .toLeft(())
  }

  private def conflict(options: String, suggestion: String): EpochalException =
    Conditions.OptionsConflict("format" -> Format, "options" -> options, "suggestion" -> suggestion)

  private def urlInvalid(values: OptionValues, expected: String): EpochalException =
    Conditions.OptionInvalid(
      "option" -> Url.name,
      "format" -> Format,
      "value" -> Redaction.url(values(Url)),
      "expected" -> expected,
      "example" -> Url.example)
}
