package io.epochal.rest.source

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList
import io.epochal.rest.http.HttpHeaders
import io.epochal.rest.source.ChainedPagination.{AsHeader, AsParameter, CursorFrom, CursorTo}

/** The options of pagination. Each kind has its own; those of another kind are rejected. */
private[rest] object PagingOptions extends SecretOptionList {

  val PaginationKind = option(
    "pagination",
    OptionType.oneOf("none", "offset", "page", "cursor", "keyset", "link", "next-url", "graphql", "time-window"),
    Some("none"))(
    "How pages are requested: none (one response), by counting (offset, page), by what the previous page names (cursor, keyset, link, next-url, graphql), or by time.")
  val OffsetParam = option("offsetParam", OptionType.string, Some("_start"))(
    "Parameter for the number of records to skip (pagination=offset).")
  val LimitParam =
    option("limitParam", OptionType.string, Some("_limit"))("Parameter for the page size (pagination=offset).")
  val PageSize = option("pageSize", OptionType.int(1), Some(100))("Records per page (pagination=offset, page).")
  val PageParam =
    option("pageParam", OptionType.string, Some("page"))("Parameter for the page number (pagination=page).")
  val PageSizeParam =
    option("pageSizeParam", OptionType.string, Some("per_page"))("Parameter for the page size (pagination=page).")
  val FirstPage = option("firstPage", OptionType.int(0), Some(1))("Number of the first page (pagination=page).")
  val NextCursor = option("nextCursor", OptionType.jsonPointers, sample = Some("/meta/next_cursor"))(
    "JSON Pointer to the next cursor in a response; missing, null or empty on the last page. -1 is the last element of an array; 0 is the first record, if newer ones come first. With cursorBody also several, for a cursor of several parts (pagination=cursor).")
  val NextCursorHeader = option("nextCursorHeader", OptionType.string, sample = Some("X-Next-Cursor"))(
    "Response header with the next cursor, instead of nextCursor (pagination=cursor).")
  val CursorParam = option("cursorParam", OptionType.string, Some("cursor"))(
    "Parameter for the cursor or key (pagination=cursor, keyset).")
  val CursorHeader = option("cursorHeader", OptionType.string, sample = Some("X-Cursor"))(
    "Request header for the cursor or key, instead of cursorParam (pagination=cursor, keyset).")
  val FirstCursor = option("firstCursor", OptionType.string, sample = Some("*"))(
    "Cursor or key of the first page; required with a cursor in requestBody (pagination=cursor, keyset). Unset: none is sent.")
  val KeyField = option("keyField", OptionType.jsonPointer, sample = Some("/id"))(
    "JSON Pointer to a record's key: keyset requests greater keys than the last record's. Where records are counted, it identifies a record, whose other fields may change (pagination=none, offset, page; bodyFormat=json). Unset there: the whole record.")
  val Connection = option("connection", OptionType.jsonPointer, sample = Some("/data/repository/issues"))(
    "JSON Pointer to the connection in a response: nodes or edges, and pageInfo with hasNextPage and endCursor; required (pagination=graphql).")
  val LinkRel =
    option("linkRel", OptionType.string, Some("next"))("Relation of the next page's Link header (pagination=link).")
  val NextUrl = option("nextUrl", OptionType.jsonPointer, sample = Some("/links/next"))(
    "JSON Pointer to the next page's URL in a response; missing, null or empty on the last page (pagination=next-url).")
  val HasMore = option("hasMore", OptionType.jsonPointer, sample = Some("/has_more"))(
    "JSON Pointer to a flag that is false on the last page, even if that names a next one (pagination=cursor, keyset, link, next-url; every windowPagination but none).")
  val LastPage = option("lastPage", OptionType.jsonPointer, sample = Some("/end_of_stream"))(
    "JSON Pointer to a flag that is true on the last page, instead of hasMore (pagination=cursor, keyset, link, next-url; every windowPagination but none).")
  val EndOfList = option("endOfList", OptionType.oneOf("proven", "assumed", "repeated"), Some("proven"))(
    "proven: a first page that names no next page, not even as null or empty, fails the query until some page has named one; so does a response of pagination=none that mentions further pages, and a page without records that states a greater total (offset, page). assumed: all of these end the list. repeated (where pages are named): like proven, and a page that names itself as the next one is the last (not with keyset, graphql).")
  val EmptyPages = option("emptyPages", OptionType.oneOf("skip", "end"), sample = Some("end"))(
    "Whether a page without records that names a next one is skipped or is the last (pagination=cursor, link, next-url, time-window). Unset: up to 1000 such pages in a row are skipped; more fail a batch read or a time window, end a run of AvailableNow, and are requested one per poll by other streams.")

  /** Maximum pages without records in a row that are skipped where no later poll continues after them. */
  private[rest] val MaxEmptyPages = 1000

  /** Consecutive pages without new records that end a poll of a list; the next poll resumes there. Some APIs respond to a
    * poll with no records and a new token, forever.
    */
  private[rest] val EmptyPagesPerPoll = 100

  override def all: Seq[OptionSpec[_]] = super.all ++ BodyOptions.all ++ WindowOptions.all ++ CountingOptions.all

  /** Options that refer to a response's body or its records. */
  private[rest] val inBodies: Seq[OptionSpec[_]] =
    Seq(NextCursor, NextUrl, Connection, HasMore, LastPage, KeyField, WindowOptions.Overlap, WindowOptions.KeyColumns)

  private val countingOptions = PageSize +: KeyField +: EndOfList +: CountingOptions.all
  private val cursors = Seq(CursorParam, CursorHeader, BodyOptions.Cursor, FirstCursor)
  private val chainOptions = Seq(HasMore, LastPage, PollOptions.MaxPages)

  /** The options that only some kinds of pagination have. */
  private val kinds: Map[String, Seq[OptionSpec[_]]] = Map(
    "none" -> Seq(KeyField, CountingOptions.Drift, EndOfList),
    "offset" -> (Seq(OffsetParam, LimitParam, BodyOptions.Offset, BodyOptions.Limit) ++ countingOptions),
    "page" -> (Seq(PageParam, PageSizeParam, BodyOptions.Page, BodyOptions.Limit, FirstPage) ++ countingOptions),
    "cursor" -> (Seq(NextCursor, NextCursorHeader, EndOfList, EmptyPages) ++ cursors ++ chainOptions),
    "keyset" -> (KeyField +: (cursors ++ chainOptions)),
    "link" -> (Seq(LinkRel, EndOfList, EmptyPages) ++ chainOptions),
    "next-url" -> (Seq(NextUrl, EndOfList, EmptyPages) ++ chainOptions),
    "graphql" -> (BodyOptions.ofGraphQl ++ Seq(Connection, EmptyPages, PollOptions.MaxPages)),
    "time-window" -> (WindowOptions.all :+ PollOptions.MaxPages)
  )

  def read(values: OptionValues): Either[EpochalException, Paging] = {
    val kind = values(PaginationKind)
    for {
      _ <- SinceOptions.fits(values, kind)
      _ <- ofKind(values, kind)
      _ <- values.exclusive("Keep the one that the API uses.")(HasMore, LastPage)
      paging <-
        if (kind != "time-window") of(values, kind)
        else
          of(values, values(WindowOptions.WindowPagination))
            .map(window(values, _))
            .flatMap(WindowOptions.read(values, _))
      _ <- values.consistent(values(EndOfList) != "repeated" || !paging.isCounted)(
        "{option:endOfList=repeated} where pages are counted",
        "Leave {option:endOfList} out: no page names a next one there.")
      _ <- pointersOutside(values, paging)
      _ <- values.consistent(
        !paging.isInstanceOf[ChainedPagination] || !values.isSet(PollOptions.Journal) || values(PollOptions.Journal))(
        s"{option:pagination=${paging.kind}}, {option:journal=false}",
        "Leave {option:journal} out: such pages are always journalled.")
    } yield paging
  }

  private def window(values: OptionValues, within: Paging): ChainedPagination = within.asChain match {
    case pages: CountedPages => pages.copy(flag = flag(values))
    case other               => other
  }

  private def of(values: OptionValues, kind: String): Either[EpochalException, Paging] = kind match {
    case "offset" =>
      Right(Pagination.ByOffset(values(OffsetParam), values(LimitParam), values(PageSize).toLong))
    case "page" =>
      val (first, size) = (values(FirstPage).toLong, values(PageSize).toLong)
      Right(Pagination.ByPage(values(PageParam), values(PageSizeParam), first, size))
    case "cursor"   => cursor(values)
    case "keyset"   => keyset(values)
    case "link"     => Right(ChainedPagination.ByLink(values(LinkRel), flag(values)))
    case "next-url" => values.required(NextUrl).map(ChainedPagination.ByNextUrl(_, flag(values)))
    case "graphql"  => values.required(Connection).map(ChainedPagination.ofConnection)
    case _          => Right(Pagination.Whole)
  }

  /** Rejects user parameters that select the page. */
  def ownParameters(
      values: OptionValues,
      paging: Paging,
      call: PageCall,
      userParameters: Set[String]): Either[EpochalException, Unit] =
    (if (call.inUrl) paging.parameters else Nil)
      .find(userParameters)
      .map(name =>
        values.conflict(
          s"{option:pagination=${paging.kind}}, the parameter '$name'",
          s"Take '$name' out of {option:url} and params."))
      .orElse(
        Seq[OptionSpec[_]](
          OffsetParam,
          LimitParam,
          PageParam,
          PageSizeParam,
          WindowOptions.WindowFromParam,
          WindowOptions.WindowToParam)
          .find(spec => !call.inUrl && values.isSet(spec))
          .map(besideBody(values, " that selects the page", ".")))
      .toLeft(())

  private def besideBody(values: OptionValues, body: String, why: String)(spec: OptionSpec[_]): EpochalException =
    values.conflict(s"${spec.reference}, {option:requestBody}$body", s"Leave ${spec.reference} out$why")

  private def cursor(values: OptionValues): Either[EpochalException, ChainedPagination] =
    for {
      _ <- values.exclusive("Keep the one that the API uses.")(NextCursor, NextCursorHeader)
      from <- values.get(NextCursorHeader) match {
        case Some(header) => Right(ChainedPagination.InHeader(header))
        case None         => values.required(NextCursor).flatMap(inBody(values, _))
      }
      paging <- byCursor(values, from, "cursor")
    } yield paging

  /** A cursor in the last or the first record is found like a key. */
  private def inBody(values: OptionValues, pointers: Seq[String]): Either[EpochalException, CursorFrom] = {
    val ofRecords = for {
      records <- RecordOptions.array(values).toSeq
      index <- Seq("-1", "0")
      pointer <- pointers.find(pointer => s"$pointer/".startsWith(s"$records/$index/"))
    } yield ChainedPagination.InRecord(pointer.drop(records.length + index.length + 1), index == "0")
    val ofRecord = ofRecords.headOption
    for {
      _ <- values.consistent(pointers.sizeIs == 1 || values.isSet(BodyOptions.Cursor) && ofRecord.isEmpty)(
        s"{option:nextCursor=${pointers.mkString(",")}}" +
          (if (ofRecord.isEmpty) " without {option:cursorBody}" else ""),
        if (ofRecord.isEmpty) "Set {option:cursorBody}: a cursor of several parts is sent as a JSON array."
        else
          s"Set {option:nextCursor=${pointers.find(_.matches(".*/(-1|0)(/.*)?")).mkString}} to the array with all parts, or to one of them."
      )
      newestFirst = ofRecord.exists(_.isFirst)
      _ <- values.consistent(!newestFirst || values.isSet(FirstCursor))(
        s"{option:nextCursor=${pointers.mkString}} without {option:firstCursor}",
        "Set {option:firstCursor} to the cursor of a record: the records before it in the list, the newer ones, are read.")
      flag = Seq(HasMore, LastPage).find(spec => newestFirst && values.isSet(spec))
      _ <- flag
        .map(spec =>
          values.conflict(
            s"{option:nextCursor=${pointers.mkString}}, ${spec.reference}",
            s"Leave ${spec.reference} out: such a list ends with a page without records."))
        .toLeft(())
    } yield ofRecord.getOrElse(ChainedPagination.InBody(pointers))
  }

  private def keyset(values: OptionValues): Either[EpochalException, ChainedPagination] =
    values
      .required(KeyField)
      .flatMap(pointer => byCursor(values, ChainedPagination.InRecord(pointer, isFirst = false), "keyset"))

  private def byCursor(
      values: OptionValues,
      from: CursorFrom,
      kind: String): Either[EpochalException, ChainedPagination] = {
    val (header, asJson) = (values.get(CursorHeader), values.isSet(BodyOptions.Cursor))
    val first = values.get(FirstCursor).map(text => if (asJson) BodyOptions.json(text) else text)
    val inBody = asJson || values.isSet(PageCall.RequestBody)
    for {
      _ <- values.exclusive("Keep the one that the API expects.")(CursorParam, CursorHeader, BodyOptions.Cursor)
      _ <- Seq(CursorParam, CursorHeader)
        .find(spec => inBody && values.isSet(spec))
        .map(besideBody(values, "", ": the body selects the page."))
        .toLeft(())
      _ <- values.consistent(!inBody || asJson || first.isDefined)(
        s"{option:pagination=${values(PaginationKind)}}, {option:requestBody} without {option:firstCursor}",
        "Set {option:cursorBody} to the place of the cursor in the body, or {option:firstCursor}, where the first page's body has a place for it too.")
      _ <- header.fold[Either[EpochalException, Any]](Right(()))(name =>
        HttpHeaders.of(values.group.format, Map(name -> first.getOrElse(""))))
    } yield {
      val to =
        if (inBody) ChainedPagination.InRequestBody(asJson)
        else header.fold[CursorTo](AsParameter(values(CursorParam)))(AsHeader(_))
      ChainedPagination.ByCursor(from, to, first, flag(values), kind)
    }
  }

  private def flag(values: OptionValues): Option[MoreFlag] =
    values
      .get(HasMore)
      .map(MoreFlag(_, trueInLast = false))
      .orElse(values.get(LastPage).map(MoreFlag(_, trueInLast = true)))

  private def ofKind(values: OptionValues, kind: String): Either[EpochalException, Unit] = {
    val ours = kinds(kind) ++ (if (kind == "time-window") ofWindows(values(WindowOptions.WindowPagination)) else Nil) ++
      Option.when(values.isSet(SinceOptions.Field))(WindowOptions.KeyColumns)
    val foreignOptions = kinds.values.flatten.toSeq.distinct.filterNot(ours.contains).filter(values.isSet(_))
    ensure(foreignOptions.isEmpty) {

      val owners =
        kinds.collect { case (other, specs) if foreignOptions.exists(specs.contains) => other }.toSeq.sorted
      values.conflict(
        s"{option:pagination=$kind}, ${foreignOptions.map(_.reference).mkString(", ")}",
        s"Set {option:pagination=${owners.mkString(" or ")}}, or leave ${foreignOptions.map(_.reference).mkString(", ")} out.")
    }
  }

  private def ofWindows(within: String): Seq[OptionSpec[_]] =
    kinds(within).diff(CountingOptions.all).filter(_ != KeyField || within == "keyset") ++
      Seq(HasMore, LastPage).filter(_ => within != "none")

  /** Rejects pointers into the records: only the object around them is searched. */
  private def pointersOutside(values: OptionValues, paging: Paging): Either[EpochalException, Unit] = {
    val records = RecordOptions.array(values).getOrElse("")
    val pointers = paging match {
      // Bodies of other formats are rejected by `checkBodyFormat`; those of another shape are searched as a whole.
      case _ if values(RecordOptions.Format) != "json" || RecordOptions.array(values).isEmpty => Nil
      case chain: ChainedPagination                                                           => chain.pointers
      case _ => values.get(CountingOptions.TotalCount).toSeq
    }
    pointers
      .find(pointer => s"$pointer/".startsWith(s"$records/"))
      .map(pointer =>
        values.conflict(
          s"{option:records=${if (records.isEmpty) "(unset)" else records}}, the pointer '$pointer' into the records",
          "Set {option:records} to the array's own JSON Pointer, for example /data."))
      .toLeft(())
  }
}
