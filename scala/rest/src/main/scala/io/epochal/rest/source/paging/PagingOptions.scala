package io.epochal.rest.source.paging

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.rest.http.request.HttpHeaders
import io.epochal.rest.source.paging.ChainedPagination.{AsHeader, AsParameter, CursorFrom, CursorTo}

/** The options that say how an API is asked for its pages. Each kind of pagination has its own; those of another are refused. */
private[rest] object PagingOptions {

  val PaginationKind: OptionSpec[String] = OptionSpec(
    "pagination",
    OptionType.oneOf("none", "offset", "page", "cursor", "keyset", "link", "next-url", "time-window"),
    "How a part of the records is requested: all in one response, by offset and limit, by page number, by what the page " +
      "before it says (a cursor, its last record's key, a Link header, a URL), or by stretches of time.",
    Some("none")
  )
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
    OptionSpec("pageSize", OptionType.int(1), "Records of one response (pagination=offset, page).", Some(100))
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
  val NextCursor: OptionSpec[String] = OptionSpec(
    "nextCursor",
    OptionType.jsonPointer,
    "JSON Pointer to the next page's cursor in a response (pagination=cursor, or else nextCursorHeader). Missing, null or empty after " +
      "the last page.",
    sample = Some("/meta/next_cursor")
  )
  val NextCursorHeader: OptionSpec[String] = OptionSpec(
    "nextCursorHeader",
    OptionType.string,
    "Header of a response with the next page's cursor (pagination=cursor, or else nextCursor).",
    sample = Some("X-Next-Cursor"))
  val CursorParam: OptionSpec[String] =
    OptionSpec(
      "cursorParam",
      OptionType.string,
      "Parameter that sends the cursor, or the key (pagination=cursor, keyset).",
      Some("cursor"))
  val CursorHeader: OptionSpec[String] = OptionSpec(
    "cursorHeader",
    OptionType.string,
    "Header that sends the cursor, or the key, in place of cursorParam (pagination=cursor, keyset).",
    sample = Some("X-Cursor"))
  val FirstCursor: OptionSpec[String] = OptionSpec(
    "firstCursor",
    OptionType.string,
    "Cursor or key of the first page (pagination=cursor, keyset). Unset: the first page is requested without one; a cursor in requestBody needs it.",
    sample = Some("*"))
  val KeyField: OptionSpec[String] = OptionSpec(
    "keyField",
    OptionType.jsonPointer,
    "JSON Pointer within a record to its key: the next page is requested with the key of the last record, and has the records with greater keys " +
      "(pagination=keyset). Where records are counted, the field that shows whether the list has shifted: a record that changes in place then counts as the same " +
      "(pagination=none, offset, page; bodyFormat=json). Unset there: the whole record.",
    sample = Some("/id")
  )
  val LinkRel: OptionSpec[String] = OptionSpec(
    "linkRel",
    OptionType.string,
    "Relation of the Link header that leads to the next page (pagination=link).",
    Some("next"))
  val NextUrl: OptionSpec[String] = OptionSpec(
    "nextUrl",
    OptionType.jsonPointer,
    "JSON Pointer to the next page's URL in a response (pagination=next-url). Missing, null or empty after the last page.",
    sample = Some("/links/next")
  )
  val HasMore: OptionSpec[String] = OptionSpec(
    "hasMore",
    OptionType.jsonPointer,
    "JSON Pointer to a flag in a response: where it is false no page follows, whatever else the response says (pagination=cursor, " +
      "keyset, link, next-url; every windowPagination but none).",
    sample = Some("/has_more")
  )
  val LastPage: OptionSpec[String] = OptionSpec(
    "lastPage",
    OptionType.jsonPointer,
    "JSON Pointer to a flag in a response, in place of hasMore: where it is true no page follows, whatever else the response says " +
      "(pagination=cursor, keyset, link, next-url; every windowPagination but none).",
    sample = Some("/end_of_stream")
  )
  val EndOfList: OptionSpec[String] = OptionSpec(
    "endOfList",
    OptionType.oneOf("proven", "assumed"),
    "Whether a list may end without saying so: with proven a first page that has nothing where the next one is named (neither null nor " +
      "empty) fails the query, until some page has named a next one, and so does a response under pagination=none that mentions " +
      "further pages; assumed takes both as the end (pagination=none, cursor, link, next-url, time-window).",
    Some("proven")
  )
  val MaxPages: OptionSpec[Int] = OptionSpec(
    "maxPages",
    OptionType.int(1),
    "Maximum pages that one poll of the API may request; a list that is longer is taken to be endless, and an error. Under AvailableNow " +
      "and in a batch read one poll reads to the end of the list (pagination=cursor, " +
      "keyset, link, next-url; with time-window the pages of one window).",
    Some(100000)
  )
  val Journal: OptionSpec[Boolean] = OptionSpec(
    "journal",
    OptionType.boolean,
    "Whether responses are kept in the checkpoint until they are delivered, so that a replay does not request them again. " +
      "Always so with pagination=cursor, keyset, link, next-url and time-window.",
    Some(false)
  )

  val all: Seq[OptionSpec[_]] =
    Seq(PaginationKind, OffsetParam, LimitParam, PageSize, PageParam, PageSizeParam, FirstPage) ++
      Seq(
        NextCursor,
        NextCursorHeader,
        CursorParam,
        CursorHeader,
        FirstCursor,
        KeyField,
        LinkRel,
        NextUrl,
        HasMore,
        LastPage,
        EndOfList) ++
      WindowOptions.all ++ CountingOptions.all ++ Seq(MaxPages, Journal)

  /** Those that look for something in a response's body, or in its records. */
  private[rest] val inBodies: Seq[OptionSpec[_]] =
    Seq(NextCursor, NextUrl, HasMore, LastPage, KeyField, WindowOptions.Overlap, WindowOptions.KeyColumns)

  /** Each kind of pagination with the options that not all have. */
  private val kinds: Map[String, Seq[OptionSpec[_]]] = Map(
    "none" -> Seq(KeyField, CountingOptions.Drift, EndOfList),
    "offset" -> (Seq(OffsetParam, LimitParam, PageSize, KeyField) ++ CountingOptions.all),
    "page" -> (Seq(PageParam, PageSizeParam, FirstPage, PageSize, KeyField) ++ CountingOptions.all),
    "cursor" -> Seq(
      NextCursor,
      NextCursorHeader,
      CursorParam,
      CursorHeader,
      FirstCursor,
      HasMore,
      LastPage,
      EndOfList,
      MaxPages),
    "keyset" -> Seq(KeyField, CursorParam, CursorHeader, FirstCursor, HasMore, LastPage, MaxPages),
    "link" -> Seq(LinkRel, HasMore, LastPage, EndOfList, MaxPages),
    "next-url" -> Seq(NextUrl, HasMore, LastPage, EndOfList, MaxPages),
    "time-window" -> (WindowOptions.all :+ MaxPages)
  )

  def read(values: OptionValues): Either[EpochalException, Paging] = {
    val kind = values(PaginationKind)
    for {
      _ <- ofKind(values, kind)
      _ <- values.exclusive("Keep the one that the API uses.")(HasMore, LastPage)
      paging <-
        if (kind != "time-window") of(values, kind)
        else
          of(values, values(WindowOptions.WindowPagination)).flatMap {
            case counted: Pagination if counted != Pagination.Whole =>
              WindowOptions.read(values, CountedPages(counted, flag(values)))
            case chained: ChainedPagination => WindowOptions.read(values, chained)
            case _                          => WindowOptions.read(values, OnePage)
          }
      _ <- pointersOutside(values, paging)
      _ <- alwaysJournalled(values, paging)
    } yield paging
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
    case _          => Right(Pagination.Whole)
  }

  /** The parameters that tell a page are ours to set. */
  def ownParameters(
      values: OptionValues,
      paging: Paging,
      call: PageCall,
      taken: Set[String]): Either[EpochalException, Unit] =
    (if (call.inUrl) namesOf(paging) else Nil)
      .find(taken)
      .map(name =>
        values.conflict(s"pagination=${paging.kind}, the parameter '$name'", s"Take '$name' out of url and params."))
      .orElse(
        Seq(
          OffsetParam,
          LimitParam,
          PageParam,
          PageSizeParam,
          WindowOptions.WindowFromParam,
          WindowOptions.WindowToParam)
          .find(spec => !call.inUrl && values.isSet(spec))
          .map(spec => values.conflict(s"${spec.name}, requestBody that selects the page", s"Leave ${spec.name} out.")))
      .toLeft(())

  private def namesOf(paging: Paging): Seq[String] = paging match {
    case Pagination.ByOffset(from, n, _)                        => Seq(from, n)
    case Pagination.ByPage(page, n, _, _)                       => Seq(page, n)
    case ChainedPagination.ByCursor(_, AsParameter(name), _, _) => Seq(name)
    case CountedPages(counted, _)                               => namesOf(counted)
    case windows: TimeWindow => Seq(windows.fromParam, windows.toParam) ++ namesOf(windows.within)
    case _                   => Nil
  }

  /** What of the options selects the records, beside the kind. */
  def identity(values: OptionValues, paging: Paging): Option[String] = paging match {
    case _: Pagination.ByPage                             => Some(s"firstPage=${values(FirstPage)}")
    case ChainedPagination.ByCursor(_, _, Some(first), _) => Some(s"firstCursor=$first")
    case CountedPages(counted, _)                         => identity(values, counted)
    case windows: TimeWindow =>
      val parts = Some(windows.within.kind).filter(_ != "none") ++ identity(values, windows.within)
      Option.when(parts.nonEmpty)(s"windowPagination=${parts.mkString(", ")}")
    case _ => None
  }

  private def cursor(values: OptionValues): Either[EpochalException, ChainedPagination] =
    for {
      _ <- values.exclusive("Keep the one that the API uses.")(NextCursor, NextCursorHeader)
      from <- values.get(NextCursorHeader) match {
        case Some(header) => Right(ChainedPagination.InHeader(header))
        case None         => values.required(NextCursor).map(ChainedPagination.InBody(_))
      }
      paging <- sent(values, from)
    } yield paging

  private def keyset(values: OptionValues): Either[EpochalException, ChainedPagination] =
    values.required(KeyField).flatMap(pointer => sent(values, ChainedPagination.InLastRecord(pointer)))

  private def sent(values: OptionValues, from: CursorFrom): Either[EpochalException, ChainedPagination] = {
    val (header, first) = (values.get(CursorHeader), values.get(FirstCursor))
    val inBody = values.isSet(PageCall.RequestBody)
    for {
      _ <- values.exclusive("Keep the one that the API expects.")(CursorParam, CursorHeader)
      _ <- Seq(CursorParam, CursorHeader)
        .find(spec => inBody && values.isSet(spec))
        .map(spec =>
          values.conflict(s"${spec.name}, requestBody", s"Leave ${spec.name} out: the body selects the page."))
        .toLeft(())
      _ <- Either.cond(
        !inBody || first.isDefined,
        (),
        values.conflict(
          s"pagination=${values(PaginationKind)}, requestBody without firstCursor",
          "Set firstCursor: the first page's body has a place for it too."))
      _ <- header.fold[Either[EpochalException, Any]](Right(()))(name =>
        HttpHeaders.of(values.group.format, Map(name -> first.getOrElse(""))))
    } yield {
      val to =
        if (inBody) ChainedPagination.InRequestBody
        else header.fold[CursorTo](AsParameter(values(CursorParam)))(AsHeader(_))
      ChainedPagination.ByCursor(from, to, first, flag(values))
    }
  }

  private def flag(values: OptionValues): Option[MoreFlag] =
    values
      .get(HasMore)
      .map(MoreFlag(_, trueInLast = false))
      .orElse(values.get(LastPage).map(MoreFlag(_, trueInLast = true)))

  private def ofKind(values: OptionValues, kind: String): Either[EpochalException, Unit] = {
    val ours = kinds(kind) ++ (if (kind == "time-window") ofWindows(values(WindowOptions.WindowPagination)) else Nil)
    val strange = kinds.values.flatten.toSeq.distinct.filterNot(ours.contains).filter(values.isSet(_))
    Either.cond(
      strange.isEmpty,
      (), {
        val needed = kinds.collect { case (other, specs) if strange.exists(specs.contains) => other }.toSeq.sorted
        values.conflict(
          s"pagination=$kind, ${strange.map(_.name).mkString(", ")}",
          s"Set pagination=${needed.mkString(" or ")}, or leave ${strange.map(_.name).mkString(", ")} out.")
      })
  }

  private def ofWindows(within: String): Seq[OptionSpec[_]] =
    kinds(within).diff(CountingOptions.all).filter(_ != KeyField || within == "keyset") ++ (if (within == "none") Nil
                                                                                            else Seq(HasMore, LastPage))

  /** A response with something beside its records is an object; what is within them is not looked at. */
  private def pointersOutside(values: OptionValues, paging: Paging): Either[EpochalException, Unit] = {
    val records = values.get(RecordOptions.Records).getOrElse("")
    val pointers = paging match {
      case _ if values(RecordOptions.Format) != "json" => Nil // Refused on the whole.
      case chained: ChainedPagination                  => chained.pointers
      case _                                           => values.get(CountingOptions.TotalCount).toSeq
    }
    pointers
      .find(pointer => s"$pointer/".startsWith(s"$records/"))
      .map(pointer =>
        values.conflict(
          s"records=${if (records.isEmpty) "(unset)" else records}, the pointer '$pointer' into the records",
          "Set records to the array's own JSON Pointer, for example /data."))
      .toLeft(())
  }

  private def alwaysJournalled(values: OptionValues, paging: Paging): Either[EpochalException, Unit] =
    Either.cond(
      !paging.isInstanceOf[ChainedPagination] || !values.isSet(Journal) || values(Journal),
      (),
      values.conflict(
        s"pagination=${paging.kind}, journal=false",
        "Leave journal out: such pages are always journalled.")
    )
}
