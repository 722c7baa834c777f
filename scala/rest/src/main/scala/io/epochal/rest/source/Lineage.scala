package io.epochal.rest.source

import java.util.Locale
import java.util.regex.Matcher

import org.apache.spark.sql.types.{StringType, StructField}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, SourceOptions}
import io.epochal.kit.access.SecretOptionList
import io.epochal.rest.http.{AuthScheme, Endpoint, HttpOptions, RequestOptions}

/** The resources that a query depends on, and at last its own: a list whose records name the lists of the next level. The
  * first level is one list; each later one has a list for every record of the level before.
  *
  * @param levels
  *   from the first ancestor to the query's own resource
  */
final private[rest] class Lineage(val levels: IndexedSeq[Level]) {

  /** The level whose records are delivered. */
  def leaf: Level = levels.last

  /** By level, the names that select a list or one below it: lists with equal values of these are the same list. */
  val keys: IndexedSeq[IndexedSeq[String]] =
    levels.indices.map(i => levels(i).names.filter(name => levels.drop(i).exists(_.keys.contains(name))))

  /** Whether the leaf is one list, without a parent. */
  def isAlone: Boolean = levels.sizeIs == 1

  override def toString: String = s"Lineage(${levels.mkString(", ")})"
}

/** The lists of one resource: their common options, with places for the values of a list.
  *
  * @param template
  *   the options with a name in place of each value
  * @param raw
  *   the options as given, with placeholders
  * @param names
  *   all fields of the ancestors' records, in order
  * @param fields
  *   what this level's records give to the next level: name and JSON Pointer
  */
final private[rest] case class Level(
    template: RestOptions,
    raw: Map[String, String],
    names: IndexedSeq[String],
    fields: Seq[(String, String)] = Nil) {

  /** Those of `names` that are in the requests of a list. */
  val keys: IndexedSeq[String] = names.filter(Placeholders.names(raw))

  /** The names that the next level has. */
  def below: IndexedSeq[String] = names ++ fields.map(_._1)

  /** How the pages of a list are followed, which may grow. */
  val pagination: ChainedPagination = template.requests.paging.asChain match {
    case pages: CountedPages => pages.copy(total = ListTotal.of(template), grows = true)
    case other               => other
  }

  private val url = Lineage.urlOf(raw)

  /** Without `metadataColumns`, which needs the options of the parents. */
  private val levelOptions = raw.filterNot { case (name, _) =>
    name.equalsIgnoreCase(RecordOptions.MetadataColumns.name)
  }
  private val params = family(RequestOptions.Params.prefix).toSeq.sortBy(_._1)
  private val headers = family(RequestOptions.Headers.prefix).map { case (name, text) =>
    name.toLowerCase(Locale.ROOT) -> text.trim
  }

  /** The same level within the budget of another. */
  def within(query: String): Level = copy(template = template.copy(requests = template.requests.within(query)))

  /** The requests of one list. Quick where requests have no body: only the URL is parsed.
    *
    * @param values
    *   of `names`, at least of `keys`
    */
  def of(values: Map[String, String]): ListRequests = if (names.isEmpty) template.requests
  else {
    def resolve(text: String)(encode: String => String): String = Placeholders.fill(text, values.get)(encode)
    val requests = template.requests
    val common = requests.endpoint.headers
    val own = if (requests.endpoint.hasUserInfo) common.init else common
    val endpoint = Endpoint
      .of(
        resolve(url)(Endpoint.encode),
        params.map { case (name, text) => name -> resolve(text)(identity) },
        own.map { case (name, text) =>
          name -> headers.get(name.toLowerCase(Locale.ROOT)).fold(text)(resolve(_)(Placeholders.header))
        }
      )
      .fold(problem => throw new IllegalArgumentException(problem), identity)
      .withCredential(requests.endpoint.credential)
    requests
      .at(endpoint)
      .as(s"${template.source} ${FanOut.memberName(keys.map(name => name -> values(name)).toMap)}")
      .copy(
        pageCall =
          if (requests.pageCall.body.isEmpty) requests.pageCall
          else RestOptions.single(Placeholders.fillOptions(levelOptions, values)).fold(throw _, _.requests.pageCall),
        params = values)
  }

  /** The requests of one list in a batch read, and of a stream's first poll. */
  def first(values: Map[String, String]): ListRequests = {
    val list = of(values)
    template.since.fold(list)(one => one.passRequests(list, one.first))
  }

  private def family(prefix: String): Map[String, String] = raw.collect {
    case (name, text) if name.length > prefix.length && name.regionMatches(true, 0, prefix, 0, prefix.length) =>
      name.substring(prefix.length) -> text
  }

  override def toString: String = template.requests.place
}

/** The options `parent.*`: the resource whose records name the lists to read. */
private[rest] object Lineage extends SecretOptionList {

  private val fieldList = new OptionType[Seq[(String, String)]](
    "fields",
    "names with JSON Pointers, as name=/pointer, with commas between them",
    "owner=/owner/login,repo=/name")(
    text => {
      val pairs = text.split(",").toSeq.map(_.trim).filter(_.nonEmpty).map(_.split("=", 2).map(_.trim))
      Some(pairs.collect { case Array(name, pointer) if pointer.startsWith("/") => name -> pointer })
        .filter(fields => fields.nonEmpty && fields.size == pairs.size)
    },
    _.map { case (name, pointer) => s"$name=$pointer" }.mkString(",")
  )

  val ParentUrl = option("parent.url", OptionType.string, sample = Some("https://api.example.com/repos"))(
    "URL of a list whose records name the lists to read: url then has ${name} for the values of parent.fields. Read whole at each poll, or, with parent.sinceField, at the first poll of a run.")
  val ParentFields = option("parent.fields", fieldList)(
    "The values that a record of the parent gives to url, params.*, headers.* and requestBody: a name for each JSON Pointer.")
  val Parent = option("parent.*", OptionType.string, secret = true)(
    "Options of the parent, as parent.pagination, parent.records, parent.parent.url: any of a list. On the same scheme, host and port it has the credentials, headers and limits of its child, unless it sets its own.")
  val ColumnNames = option("paramColumns", OptionType.names, sample = Some("owner,repo"))(
    "Values of parent.fields or partitionParams to add as columns: STRING, or the type that the schema gives them.")
  val OnMemberGone = option("onMemberGone", OptionType.oneOf("skip", "fail"), Some("skip"))(
    "Whether a list of a parent's record that the API answers with 404 or 410 is skipped and counted, or fails the query; if no such list has ever answered, it fails.")

  private val Prefix = Parent.prefix

  /** Levels above the query's own resource. */
  private val MaxAncestors = 2

  def ofOneList(options: RestOptions): Lineage =
    new Lineage(Vector(Level(options, Map(RestOptions.Url.name -> options.values(RestOptions.Url)), Vector.empty)))

  /** The options of a query with a parent; None without one. */
  def read(raw: Map[String, String]): Option[Either[EpochalException, RestOptions]] =
    Option.when(isParent(raw))(tree(raw))

  /** The columns for the values of a member's parameters are added to the other columns.
    *
    * @param names
    *   of the parameters
    */
  def withColumns(options: RestOptions, names: Seq[String]): Either[EpochalException, RestOptions] = {
    val columns = options.values.get(ColumnNames).getOrElse(Nil).distinct
    val other = options.rules.apart.map(_.name)
    for {
      _ <- options.values.consistent(columns.isEmpty || names.nonEmpty)(
        "{option:paramColumns} without {option:parent.url}",
        "Set {option:parent.url} or {option:partitionParams}, or leave {option:paramColumns} out.")
      _ <- columns
        .find(!names.contains(_))
        .map(options.values.group.invalid(ColumnNames, _, s"one of ${names.mkString(", ")}", names))
        .toLeft(())
      _ <- options.values.consistent(!columns.exists(other.contains))(
        s"two columns '${columns.find(other.contains).getOrElse("")}'",
        "Give each of these columns a name of its own.")
    } yield
      if (columns.isEmpty) options
      else ParamColumns.withOrigin(options, options.rules.origin ++ columns.map(StructField(_, StringType)))
  }

  private def isParent(raw: Map[String, String]): Boolean = raw.keys.exists(isOfParent)

  private def isOfParent(name: String): Boolean = name.regionMatches(true, 0, Prefix, 0, Prefix.length)

  private[source] def urlOf(raw: Map[String, String]): String =
    raw.collectFirst { case (name, text) if name.equalsIgnoreCase(RestOptions.Url.name) => text }.getOrElse("")

  private def tree(raw: Map[String, String]): Either[EpochalException, RestOptions] =
    for {
      _ <- checkNames(raw, "")
      levels <- levels(raw, 0)
      leaf = levels.last.template
      _ <- leaf.values.consistent(!leaf.values.isSet(FanOut.PartitionParams))(
        "{option:parent.url}, {option:partitionParams}",
        "Leave {option:partitionParams} out, or give its values in the URL of the parent.")
      _ <- leaf.values.consistent(!leaf.restarts)(
        "{option:parent.url}, {option:onDrift=restart}",
        "Leave {option:onDrift=restart} out: one list of several cannot be read again alone.")
      _ <- leaf.values.consistent(!leaf.values.isSet(CountingOptions.VerifyPosition))(
        "{option:parent.url}, {option:verifyPosition}",
        "Leave {option:verifyPosition} out: no request verifies the position in a list of a parent's record.")
      _ <- checkOverlap(leaf)
      source = levels.map(_.template.source).reduceRight((of, child) => s"$child of $of")
      whole = leaf.copy(
        requests = leaf.requests.as(leaf.values.get(SourceOptions.SourceId).getOrElse(source)),
        lineage = Some(new Lineage(levels)))
      options <- withColumns(whole, levels.last.names)
    } yield options

  /** The levels down to the one of these options. */
  private def levels(raw: Map[String, String], depth: Int): Either[EpochalException, IndexedSeq[Level]] = {
    val own = raw.filterNot { case (name, _) => isOfParent(name) }
    if (!isParent(raw)) level(raw, own, IndexedSeq.empty, depth).map(IndexedSeq(_))
    else
      for {
        values <- RestOptions.group.parse(own ++ raw.filter { case (name, _) => isOfParent(name) })
        _ <- ensure(depth < MaxAncestors)(
          RestOptions.group.conflict(
            s"more than ${MaxAncestors + 1} levels of {option:parent.url}",
            "Read the first levels with a query of their own."))
        _ <- values.required(ParentUrl)
        fields <- values.required(ParentFields)
        above = this.above(raw)
        parents <- levels(inherit(own, above), depth + 1)
        names = parents.last.names ++ fields.map(_._1)
        _ <- checkFieldNames(names)
        child <- level(raw, own, names, depth)
      } yield {
        val (budget, query) = (parents.last.template.requests.http.query, child.template.requests.http.query)
        val shares = sameServer(urlOf(own), urlOf(above)) && !above.keys.exists(among(budgets))
        val whole = parents.init :+ parents.last.copy(fields = fields)
        whole.map(one => if (shares && one.template.requests.http.query == budget) one.within(query) else one) :+ child
      }
  }

  /** Rejects unknown options of all levels, before options that are missing. */
  private def checkNames(raw: Map[String, String], prefix: String): Either[EpochalException, Unit] =
    RestOptions.group
      .checkNames(raw, prefix)
      .flatMap(_ => if (isParent(raw)) checkNames(above(raw), prefix + Prefix) else Right(()))

  /** The options of the parent. */
  private def above(raw: Map[String, String]): Map[String, String] = raw.collect {
    case (name, text) if isOfParent(name) && !name.equalsIgnoreCase(ParentFields.name) =>
      name.substring(Prefix.length) -> text
  }

  /** @param own
    *   the options without those of the parents
    */
  private def level(
      raw: Map[String, String],
      own: Map[String, String],
      names: IndexedSeq[String],
      depth: Int): Either[EpochalException, Level] = {
    val placeholderCheck =
      if (names.isEmpty) Right(())
      else
        Placeholders.check(
          own,
          "{option:parent.fields}",
          names.toSet,
          "Give {option:parent.fields} a JSON Pointer for it")
    val result = for {
      _ <- placeholderCheck
      template <- RestOptions.single(
        Placeholders.fillOptions(if (depth == 0) raw else own, names.map(name => name -> s"{$name}").toMap))
      _ <- if (depth == 0) Right(()) else ancestral(template)
      _ <- checkIgnoredStatuses(template)
    } yield Level(template, own, names)
    result.left.map(error => if (depth == 0) error else ofParent(error, depth))
  }

  private def checkFieldNames(names: Seq[String]): Either[EpochalException, Unit] = {
    import Placeholders.{Name, Reserved}
    val rule = s"names of letters, digits and _, each given once, and none of ${Reserved.toSeq.sorted.mkString(", ")}"
    ensure(names.forall(name => name.matches(Name) && !Reserved(name)) && names.distinct.size == names.size)(
      RestOptions.group.invalid(ParentFields, names.mkString(", "), rule))
  }

  /** Rejects options that only the query itself has. */
  private def ancestral(template: RestOptions): Either[EpochalException, Unit] = {
    val values = template.values
    Seq(
      RestOptions.Schema,
      RestOptions.InferSchema,
      RestOptions.NumPartitions,
      FanOut.PartitionParams,
      RecordOptions.MetadataColumns,
      ColumnNames,
      OnMemberGone,
      SourceOptions.MaxRowsPerBatch,
      SourceOptions.MinRowsPerBatch,
      SourceOptions.SourceId,
      SourceOptions.EventTimeColumn)
      .find(values.isSet(_))
      .map(spec => values.conflict(s"{option:parent.${spec.name}}", "Leave it out: only the query's own list has it."))
      .orElse(Option.when(values(RecordOptions.Format) == "csv")(values
        .conflict("{option:parent.fields}, parent.bodyFormat=csv", "Read the parent as JSON or NDJSON.")))
      .toLeft(())
  }

  private def checkIgnoredStatuses(template: RestOptions): Either[EpochalException, Unit] =
    template.values.consistent(!MissingPage.Statuses.exists(template.requests.http.ignoreStatuses.contains))(
      "{option:parent.url}, {option:ignoreStatuses=404}",
      "Leave it out: {option:onMemberGone=skip} is for lists that are gone.")

  private def checkOverlap(leaf: RestOptions): Either[EpochalException, Unit] = leaf.requests.paging match {
    case windows: TimeWindow =>
      leaf.values.consistent(!windows.keyed)(
        "{option:parent.url}, {option:overlap}",
        "Leave {option:overlap} and {option:keyColumns} out, and set a longer {option:lag}.")
    case _ => Right(())
  }

  /** The error of a parent's option. */
  private def ofParent(error: EpochalException, depth: Int): EpochalException = {
    val prefix = Prefix * depth
    error.condition(error.values.map {
      case ("format", format)                    => "format" -> s"$format ($prefix*)"
      case (name @ ("option" | "example"), text) => name -> s"$prefix$text"
      case other                                 => other
    }.toSeq: _*)
  }

  private def lower(specs: Seq[OptionSpec[_]]): Seq[String] = specs.map(_.name.toLowerCase(Locale.ROOT))
  private lazy val credentials = lower(AuthScheme.options)
  private lazy val budgets = lower(Seq(HttpOptions.RequestsPerSecond, HttpOptions.MaxConcurrency))
  private lazy val limits =
    lower(HttpOptions.all).diff(credentials :+ lower(Seq(HttpOptions.IgnoreStatuses)).head)

  private def among(names: Seq[String])(name: String): Boolean = {
    val lower = name.toLowerCase(Locale.ROOT)
    // A secret can also be set by the name of a file or of an environment variable.
    names.exists(one =>
      lower == one || lower == s"${one}file" || lower == s"${one}env" ||
        one.endsWith(".*") && lower.startsWith(one.dropRight(1)))
  }

  /** The options of a parent, with credentials, headers and limits of its child if both have the same server. */
  private[source] def inherit(child: Map[String, String], parent: Map[String, String]): Map[String, String] = {
    val (from, to) = (urlOf(child), urlOf(parent))
    val ofHeaders = RequestOptions.Headers.prefix
    def header(name: String): Option[String] =
      Option.when(name.regionMatches(true, 0, ofHeaders, 0, ofHeaders.length))(
        name.substring(ofHeaders.length).toLowerCase(Locale.ROOT))
    val user = userInfo(from)
    val ownLogin = parent.keys.exists(name => among(credentials)(name) || header(name).contains("authorization")) ||
      userInfo(to).nonEmpty
    val set = parent.keySet.map(_.toLowerCase(Locale.ROOT))
    val childOptions = child.filter { case (name, text) =>
      val lower = name.toLowerCase(Locale.ROOT)
      if (set(lower)) false
      else
        header(name) match {
          case Some("authorization") => !ownLogin
          case Some("content-type")  => false
          case Some(_)               => Placeholders.names(Map(name -> text)).isEmpty
          case None                  => if (among(credentials)(lower)) !ownLogin else among(limits)(lower)
        }
    }
    if (!sameServer(from, to)) parent
    else
      (childOptions ++ parent).map {
        case (name, text) if name.equalsIgnoreCase(RestOptions.Url.name) && !ownLogin =>
          name -> user.fold(text)(login => text.replaceFirst("//", s"//${Matcher.quoteReplacement(login)}@"))
        case other => other
      }
  }

  private val Server = """^\s*([A-Za-z][A-Za-z0-9+.-]*)://(?:([^/?#]*)@)?([^/?#@]*)""".r.unanchored

  private def userInfo(url: String): Option[String] = url match {
    case Server(_, login, _) => Option(login)
    case _                   => None
  }

  private[source] def sameServer(one: String, other: String): Boolean = {
    def server(url: String): Option[(String, String)] = url match {
      case Server(scheme, _, host) =>
        val kind = scheme.toLowerCase(Locale.ROOT)
        val port = if (kind == "https") ":443" else ":80"
        Some(kind -> host.toLowerCase(Locale.ROOT).stripSuffix(":").stripSuffix(port))
      case _ => None
    }
    server(one).exists(server(other).contains)
  }
}
