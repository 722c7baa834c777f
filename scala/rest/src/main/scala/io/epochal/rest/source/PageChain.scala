package io.epochal.rest.source

import java.time.Instant
import java.util.Locale

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.{HttpCall, ResponseHead}

/** Pages that each name the next one: what follows from each response. Pure.
  *
  * @param maxEmpty
  *   maximum pages without records in a row; more are refused. A time window has the limit of its list
  * @param endedBefore
  *   whether the end of this list was found before: a page without a next one is then the last
  */
final private[rest] class PageChain(
    val list: ListRequests,
    val pagination: ChainedPagination,
    maxEmpty: Int = Int.MaxValue,
    endedBefore: Boolean = false) {
  import Step.{Done, Refuse}
  import list.endpoint

  /** Conditional polls in a row where a header names the next page: it may appear without a change of the body's ETag. */
  final private val MaxConditional = 15

  val windows: Option[TimeWindow] = Some(pagination).collect { case windows: TimeWindow => windows }

  /** Whether a page's records are compared with those of the page before. */
  private val comparesPages = list.end.repeated || windows.exists(_.within.countedRequest(None).nonEmpty)

  /** Begins a poll. The pages of a time window count together, over all polls. */
  def begin(state: ChainState, now: Instant, again: Boolean): ChainState =
    (if (again || windows.nonEmpty) state else state.restartCount).copy(latest = pagination.latest(now))

  /** Whether no page follows at present. */
  def isAtEnd(state: ChainState): Boolean =
    state.atEnd || windows.exists(!_.isDue(state.next.token, state.latest))

  def next(state: ChainState): Step[Delivery] = {
    val token = state.next.token
    val from = if (windows.exists(_.positionAt(token).page.isEmpty)) state.restartCount else state
    if (from.pages >= list.end.maxPages) Refuse(Conditions.TooManyPages("url" -> endpoint, "pages" -> from.pages))
    else {
      val isConditional = state.atEnd && (!pagination.byHeader || state.conditionalPolls < MaxConditional)
      val polls = if (isConditional && pagination.byHeader) state.conditionalPolls + 1 else 0
      val call = this
        .call(pagination, token)
        .copy(
          unless = state.validator.filter(_ => isConditional),
          endAfter = if (pagination.mayBePastEnd(token)) 1 else 0)
      val pollState = from.copy(conditionalPolls = polls)
      Step.Request[Delivery](call, Some(skip(state)), _ => false, answer => after(pollState, answer.get))
    }
  }

  private def after(state: ChainState, answer: PageAnswer): Step[Delivery] = {
    val token = state.next.token
    val absentEnds = list.end.assumed || endedBefore || pagination.continues(token)
    val response = PageResponse(endpoint, token, answer, absentEnds, list.end.empty, isOther(state, answer))
    val read = state.copy(pages = state.pages + 1)
    if (!answer.head.notModified)
      for {
        nextToken <- nextToken(response)
        _ <- whereRefused(state, answer)
        _ <- whereRepeated(state, answer)
        delivery <- move(read, answer, nextToken)
        last <- checkEnd(delivery)
      } yield last
    else if (namesNext(response)) next(state.copy(validator = None))
    else checkEnd(Delivery(read, 0))
  }

  /** Whether a page that names itself as the next one may be the last one: if its records are those of the page before,
    * the server ignores the parameter for the page.
    */
  private def isOther(state: ChainState, answer: PageAnswer): Boolean =
    list.end.repeated && (state.content.isEmpty || answer.records > 0 && !state.content.contains(answer.content))

  private def namesNext(response: PageResponse): Boolean =
    pagination.byHeader && (pagination.next(response) match {
      case Right(None) | Left(_: NoPage.Absent) => false
      case _                                    => true
    })

  private def nextToken(response: PageResponse): Step[Option[String]] = pagination.follows(response) match {
    case Right(token) => Step.unless(nullArray(response, token).orElse(emptyPage(response))).map(_ => token)
    case Left(NoPage.Mismatch(problem)) =>
      val records = Plural.of(response.scanResult.records.toLong, "record")
      Refuse(list.errors.mismatch(s"for ${describe(response.token)}", s"$records, $problem"))
    case Left(NoPage.Absent(place, option)) =>
      Refuse(
        Conditions.ContinuationMissing(
          "url" -> endpoint,
          "records" -> response.scanResult.records,
          "place" -> place,
          "option" -> option,
          "fields" -> ResponseNames.fields(response.scanResult),
          "headers" -> ResponseNames.headers(response.head)
        ))
    case Left(part: NoPage.Incomplete) => Refuse(list.errors.incomplete(response.scanResult.records.toLong, part))
    case Left(NoPage.Refused(link, reason)) =>
      Refuse(Conditions.LinkRefused("url" -> endpoint, "link" -> link, "reason" -> reason))
  }

  /** The error of null in place of the records, if a next page of the list or window is named. */
  private def nullArray(response: PageResponse, token: Option[String]): Option[EpochalException] =
    response.scanResult.nullArray.filter(_ => windows.fold(token)(_.pageOf(token)).nonEmpty).map { pointer =>
      Conditions.RecordsNotFound(
        "url" -> endpoint,
        "pointer" -> pointer,
        "found" -> "null, although the response names a next page",
        "array" -> "/data/items")
    }

  /** The error of a page without records that says that there are some. */
  private def emptyPage(response: PageResponse): Option[EpochalException] =
    if (response.scanResult.records > 0 || response.head.refusal.nonEmpty || list.end.assumed) None
    else
      pagination
        .countedRequest(response.token)
        .flatMap(WholeList.more(response.head, response.scanResult, _))
        .map(says => list.errors.mismatch(s"for ${describe(response.token)}", s"0 records, and says $says"))

  /** A refused page is past the end only if that is proven. */
  private def whereRefused(state: ChainState, answer: PageAnswer): Step[Unit] =
    answer.head.refusal.fold(Step.nothing) { refusal =>
      def error = list.errors.pageRefusal(s"for ${describe(state.next.token)}", refusal)
      isPastEnd(state).flatMap(isProven => Step.unless(Option.when(!isProven)(error)))
    }

  private def isPastEnd(state: ChainState): Step[Boolean] = pagination.endCheck(state.next.token) match {
    case None => Done(false)
    case Some(check) =>
      val isShort = check.before.fold[Step[Boolean]](Done(false)) { case (token, size) =>
        state.records.fold(records(pagination, token))(count => Done(Some(count))).map(_.exists(_ < size))
      }
      isShort.flatMap {
        case true  => Done(true)
        case false => records(check.pagination, check.token).map(_.exists(_ == check.records))
      }
  }

  /** The number of records of a page; None if the server refuses it, with whatever status. */
  private def records(
      pagination: ChainedPagination,
      token: Option[String],
      tolerates: EpochalException => Boolean = Step.isNoProof): Step[Option[Int]] =
    Step
      .attempt(call(pagination, token).copy(endAfter = 1), tolerates)
      .map(_.filter(_.head.refusal.isEmpty).map(_.records))

  /** Refuses an API that ignores the parameter for a counted page and returns a window's first page forever. Two equal
    * pages are no proof, so a page far past the window's end must equal them, too.
    */
  private def whereRepeated(state: ChainState, answer: PageAnswer): Step[Unit] =
    windows.flatMap(_.farPage(state.next.token)).filter(_ => fresh(state, answer) > 0) match {
      case Some((window, far)) if state.content.contains(answer.content) =>
        Step.attempt(call(pagination, Some(far))).flatMap { page =>
          val isSame = page.exists(other => other.records > 0 && other.content == answer.content)
          Step.unless(Option.when(isSame)(list.samePage(s"for several pages of ${window.description}")))
        }
      case _ => Step.nothing
    }

  private def move(state: ChainState, answer: PageAnswer, nextToken: Option[String]): Step[Delivery] = {
    val NextPage(token, deliveredCount) = state.next
    val (page, records) = (pagination.page(endpoint, token), answer.records)
    val newRecords = fresh(state, answer)
    def delivery(after: ChainState) = {
      val content = if (newRecords > 0 && comparesPages) Some(answer.content) else state.content
      val read = after.copy(records = Some(records), content = content)
      Done(Delivery(read, newRecords, math.max(0L, deliveredCount - records)))
    }
    nextToken.map(next => pagination.page(endpoint, Some(next))) match {
      case Some(nextPage) if nextPage != page =>
        val emptyPages = if (records == 0) state.emptyPages + 1 else 0
        val guard = if (state.loopGuard.steps == 0) state.loopGuard.visit(page) else Some(state.loopGuard)
        guard.flatMap(_.visit(nextPage)) match {
          case None =>
            Refuse(loop(s"${describe(token)} names ${describe(nextToken)} as the page after it"))
          case Some(_) if emptyPages > windows.fold(maxEmpty)(_ => list.end.maxEmptyPages) =>
            Refuse(Conditions.TooManyEmptyPages("url" -> endpoint, "pages" -> emptyPages))
          case Some(all) =>
            delivery(
              state.copy(
                next = NextPage(nextToken, 0),
                atEnd = false,
                validator = None,
                emptyPages = emptyPages,
                loopGuard = all))
        }
      case Some(_) if newRecords > 0 && !isOther(state, answer) =>
        Refuse(loop(
          s"${describe(token)} has ${Plural.of(newRecords.toLong, "new record")} and names itself as the page after it"))
      case _ =>
        val validator = answer.head.validator.filter(_ => list.revalidates)
        delivery(state
          .copy(next = NextPage(token, math.max(deliveredCount, records.toLong)), atEnd = true, validator = validator))
    }
  }

  /** Proves that a short page at the end is the last one of its list, and not the largest that the server returns. It is
    * checked if it is larger than all that were proven; once a page was full there is nothing to check.
    */
  private def checkEnd(delivery: Delivery): Step[Delivery] = {
    val state = delivery.state
    val NextPage(token, count) = state.next
    def withProvenSize(size: Long) = delivery.copy(state = state.copy(provenSize = math.max(size, state.provenSize)))
    def records(token: Option[String]) = this.records(pagination, token, _ => false).map(_.getOrElse(0))
    pagination match {
      case pages: CountedPages if state.atEnd && pages.isShort(token, count) && count > state.provenSize =>
        val after = pages.after(token, count)
        records(Some(after.first.toString)).flatMap {
          case 0 => Done(withProvenSize(count))
          case more =>
            records(token).flatMap { again =>
              val problem =
                s"${Plural.of(more.toLong, "record")}, after a page with only ${Plural.of(count, "record")}"
              // The list may have grown in between.
              Step.unless(Option.when(again <= count)(list.errors.mismatch(after, problem))).map(_ => delivery)
            }
        }
      case pages: CountedPages if state.atEnd && token.nonEmpty => Done(withProvenSize(pages.request(token).size))
      case _                                                    => Done(delivery)
    }
  }

  /** Number of records at the front of the next page that were delivered. */
  private def skip(state: ChainState): Long = math.max(state.next.deliveredCount, pagination.before(state.next.token))

  private def fresh(state: ChainState, answer: PageAnswer): Int = math.max(0L, answer.records - skip(state)).toInt

  private def call(pagination: ChainedPagination, token: Option[String]): HttpCall =
    list.pageCall.of(endpoint, pagination, token)

  /** Describes the page of a token, and its request. */
  private def describe(token: Option[String]): String =
    s"${pagination.describe(token)} (${PageUrl.displayUrl(endpoint, list.own, call(pagination, token).target)})"

  private def loop(reason: String): EpochalException =
    Conditions.PaginationLoop("url" -> endpoint, "reason" -> reason, "pagination" -> pagination.kind)
}

/** The names of a response's fields and headers, for an error about a missing one. */
private[rest] object ResponseNames {

  /** The fields around the records. */
  def fields(scanResult: ScannedPage): String = listOf(scanResult.outline.map(_._1))

  def headers(response: ResponseHead): String =
    listOf(response.all.map(_._1).distinctBy(lower).filterNot(name => Usual(lower(name))))

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  private def listOf(names: Seq[String]): String =
    if (names.isEmpty) "none" else names.take(Shown).mkString(", ") + (if (names.size > Shown) ", …" else "")

  private val Shown = 24

  /** Headers that are unrelated to pagination. */
  private val Usual = Set("connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding")
}
