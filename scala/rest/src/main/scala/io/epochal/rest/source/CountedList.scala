package io.epochal.rest.source

import io.epochal.core.error.{EpochalException, Plural}
import io.epochal.kit.source.Extent

/** A counted list: finds its end by an [[EndSearch]], and compares its records with those delivered ([[ListMarks]]). Pure.
  *
  * Records of earlier polls are not requested again: records are only ever appended, and a task detects a record that is
  * gone. The exception is `verifyPosition`.
  */
final private[rest] class CountedList(options: RestOptions) {
  import ListStep.{nothing, of, result, unless, update, when}
  import options.requests
  import options.requests.{errors, pagination}

  /** Past the end of any counted list, and within 32 bits, for servers with such numbers. */
  final private val Far = 1L << 30

  /** Polls repeat few requests, so few responses are kept. */
  final private val Remembered = 8

  val total: ListTotal = ListTotal.of(options)
  private val digests = new RecordDigests(requests)
  private val verifies = options.values(CountingOptions.VerifyPosition)

  /** With a journal, delivered records may differ from those that the API returns now. */
  private val isVerified =
    pagination != Pagination.Whole && (verifies == "always" || verifies == "start" && !options.journal)

  private val ends = new EndSearch(requests, total.isStated, page)

  /** The state before the first poll. */
  val start: CountedState = CountedState(ListMarks(digests.of, total.isStated))

  /** The number of existing records, searched up to `most` after `start`. Never below `start`.
    *
    * @param marks
    *   of records before `start`
    * @throws EpochalException
    *   unless `onDrift` allows it: DATA_LOSS if the API has fewer than `start` records, LIST_SHIFTED if one before it
    *   differs from the delivered one
    */
  def exists(start: Long, most: Long, marks: Seq[Mark]): ListStep[Long] = {
    val target = if (start > Long.MaxValue - most) Long.MaxValue else start + most
    for {
      _ <- update(_.copy(isShifted = false))
      before <- of(state => state.extent.filter(_.exists >= target && !mustVerify(state)))
      extent <- before.fold(poll(start, most, target, marks))(result)
    } yield math.max(start, math.min(extent.exists, target))
  }

  /** The marks of a position that tasks read up to, from the record `start` on. The page of its last record is requested if
    * no poll has done that: the next run must be able to verify the position.
    */
  def marksOfTasks(start: Long, end: Long, before: Seq[Mark]): ListStep[Seq[Mark]] =
    of(_.marks.digests.contains(end - 1)).flatMap { isMarked =>
      if (end <= start || !isVerified || isMarked) of(_.marks.at(end, before))
      else
        for {
          _ <- begin(start, end, before)
          _ <- count(pagination.request(end - 1))
          // That page may be the first one with a smaller total.
          isUnverified <- of(_.isUnverified)
          _ <- when(isUnverified)(verify)
          _ <- of(_.marks.firstShift).flatMap(_.fold(nothing)(reportShift))
          marks <- of(_.marks.at(end, before))
        } yield marks
    }

  /** Verifies the position of a batch that is replayed before the first poll, and that its last record is still the one
    * that was planned. An unresponsive server is detected before tasks start.
    */
  def replay(start: RestPosition, end: RestPosition): ListStep[Unit] = {
    val marks = end.marks ++ start.marks.filter(_.record < start.firstUntil(end))
    for {
      _ <- begin(end.records, end.records, marks)
      _ <- count(pagination.request(end.records - 1))
      _ <- when(isVerified)(compareOld(marks))
      _ <- update(_.copy(isUnverified = !isVerified))
      _ <- of(_.marks.firstShift).flatMap(_.fold(nothing)(record => forget(marks).flatMap(_ => reportShift(record))))
    } yield ()
  }

  private def poll(start: Long, most: Long, target: Long, marks: Seq[Mark]): ListStep[Extent] =
    for {
      _ <- begin(start, target, marks)
      extent <- ends.find(start, most)
      isShorter = extent.ends < start
      _ <- when(extent.exists <= start && !isShorter && !total.isStated)(compareOld(marks))
      _ <- when(!isShorter)(verify)
      shift <- of(_.marks.firstShift)
      _ <- update(_.copy(extent = Some(extent)))
      _ <- when(isShorter || shift.nonEmpty)(forget(marks))
      _ <- if (isShorter) reportLoss(extent.ends, start) else shift.fold(nothing)(reportShift)
      isPaged <- of(_.isPaged)
      _ <- when(!isPaged && extent.exists > pagination.pageSize)(comparePages(extent.exists))
    } yield extent

  private def begin(start: Long, target: Long, marks: Seq[Mark]): ListStep[Unit] =
    update(state => state.copy(marks = state.marks.begin(start, target, marks)))

  private def forget(marks: Seq[Mark]): ListStep[Unit] =
    update(state => state.copy(marks = state.marks.forget(marks)))

  private def mustVerify(state: CountedState): Boolean = isVerified && (state.isUnverified || verifies == "always")

  /** Compares records that no requested page has contained, once per run. */
  private def compareOld(marks: Seq[Mark]): ListStep[Unit] =
    of(_.marks.waitingMarks(marks).map(mark => pagination.request(mark.record)).distinct).flatMap {
      _.foldLeft(nothing)((before, request) => before.flatMap(_ => count(request)).map(_ => ()))
    }

  /** Compares the last record before the position whose digest is known, unless this poll has compared it. */
  private def verify: ListStep[Unit] =
    for {
      last <- of(state => if (mustVerify(state)) state.marks.last else None)
      _ <- last.fold(nothing)(record => count(pagination.request(record)).map(_ => ()))
      _ <- update(_.copy(isUnverified = false))
    } yield ()

  private def reportShift(record: Long): ListStep[Unit] =
    resume(errors.shift(record), "Resuming from here")((state, warning) =>
      state.copy(isShifted = true, warning = Some(warning)))

  private def reportLoss(has: Long, start: Long): ListStep[Unit] =
    resume(errors.drift(has, start), s"Resuming when it has more than ${Plural.of(start, "record")} again") {
      (state, warning) =>
        state.copy(warning = Some(warning).filterNot(_ => state.isWarned), isWarned = !options.restarts)
    }

  /** @param reason
    *   throws the error, if it is one
    */
  private def resume(
      reason: => String,
      next: String)(change: (CountedState, String) => CountedState): ListStep[Unit] = {
    val first = if (options.restarts) "Reading the list from its first record again" else next
    new ListStep(state =>
      try Step.Done(change(state, s"$first. $reason") -> (()))
      catch { case error: EpochalException => Step.Refuse(error) })
  }

  /** Refuses an API that ignores the paging parameter and returns its first page forever. Checked once, as soon as two
    * pages have records. Two equal pages are no proof, so a page far past the end must equal them, too.
    */
  private def comparePages(records: Long): ListStep[Unit] = {
    val (last, before) = (records - 1, records - 1 - pagination.pageSize)
    for {
      one <- content(before, records)
      other <- if (one.isEmpty) result(None) else content(last, records)
      isSame = one.nonEmpty && one == other
      far <- if (isSame) content(Far, records, mayFail = true) else result(None)
      _ <- unless(Option.when(isSame && far == one)(requests.samePage(alike(before, last, Far))))
      _ <- update(_.copy(isPaged = true))
    } yield ()
  }

  private def alike(indexes: Long*): String = {
    val queries = indexes.map(index => requests.pageCall.query(pagination.request(index))).filter(_.nonEmpty)
    val numbers = s"for the pages with the records ${indexes.mkString(", ")}, counted from 0"
    if (queries.isEmpty) numbers else queries.mkString(s"$numbers (", ", ", ")")
  }

  /** A digest of the records of a page; None if it has none. Refuses, if the server refuses a page before a total.
    *
    * @param records
    *   the length of the list
    * @param mayFail
    *   whether a failure says only that there is no such page
    */
  private def content(index: Long, records: Long, mayFail: Boolean = false): ListStep[Option[Long]] = {
    val request = pagination.request(index)
    val call = if (total.isStated) requests.plannedCall(request) else requests.call(request)
    new ListStep(state =>
      Step.attempt(call, _ => mayFail).flatMap { answer =>
        val refusal = answer
          .flatMap(_.head.refusal)
          .filter(one => total.isStated && !mayFail && !requests.http.ignoreStatuses.contains(one.status))
        Step
          .unless(
            refusal.map(one => errors.mismatch(request, s"$one, and says that there are $records records in all")))
          .map(_ => state -> answer.filter(_.records > 0).map(_.content))
      })
  }

  private def count(request: PageRequest): ListStep[PageFacts] = page(request, _ => false).map(_.get)

  /** @return
    *   None after a failure that is tolerated
    */
  private def page(request: PageRequest, tolerates: EpochalException => Boolean): ListStep[Option[PageFacts]] =
    new ListStep(state => {
      val before = state.responses.get(request)
      Step.attempt(requests.call(request).copy(unless = before.map(_._1)), tolerates).flatMap { answer =>
        answer.map(response =>
          before.filter(_ => response.head.notModified).fold(after(state, request, response)) { case (_, same) =>
            val marks = if (isUsual(request)) state.marks.afterNotModified(request) else state.marks.next(same)
            Right(state.copy(marks = marks) -> same)
          }) match {
          case Some(Right((after, page)))             => Step.Done(after -> Some(page))
          case Some(Left(error)) if !tolerates(error) => Step.Refuse(error)
          case _                                      => Step.Done(state -> None)
        }
      }
    })

  private def after(
      state: CountedState,
      request: PageRequest,
      answer: PageAnswer): Either[EpochalException, (CountedState, PageFacts)] =
    facts(state.marks, request, answer).map { page =>
      val now = page.total.orElse(page.totals.maxOption)
      val validator = answer.head.validator.filter(_ => requests.revalidates)
      val responses = (state.responses - request) ++ validator.map(one => request -> (one -> page))
      state.copy(
        marks = state.marks.next(page),
        total = now.orElse(state.total),
        isUnverified = state.isUnverified || now.exists(length => state.total.exists(_ > length)),
        responses = responses.drop(responses.size - Remembered)
      ) -> page
    }

  /** Whether a page has the usual size: a server with one size returns other records than a check asks for. */
  private def isUsual(request: PageRequest): Boolean = request.size == pagination.pageSize

  private def facts(marks: ListMarks, request: PageRequest, answer: PageAnswer): Either[EpochalException, PageFacts] = {
    import answer.{head, scanResult}
    val records = answer.records.toLong
    val part =
      if (pagination == Pagination.Whole && !requests.end.assumed) WholeList.contradiction(head, scanResult) else None
    for {
      _ <- part.map(errors.incomplete(records, _)).toLeft(())
      length <- total.read(head, scanResult, answer.body.absent).left.map(errors.mismatch(request, _))
    } yield {
      val content = if (pagination.isInstanceOf[Pagination.ByOffset] && records > 0) answer.content else 0L
      val isPlaced = records > 0 && records <= request.size && length.forall(_ >= request.first + records)
      val recordsToDigest = if (isUsual(request) && isPlaced) marks.candidates(request, records) else Nil
      val mayEnd =
        total.isStated || records > 0 || head.refusal.nonEmpty || requests.end.assumed || !isUsual(request)
      PageFacts(
        records,
        length,
        content,
        digests.read(answer.body, request.first, recordsToDigest),
        head.refusal,
        if (total.isStated) Nil else WholeList.totals(head, scanResult),
        if (mayEnd) None else WholeList.more(head, scanResult, request)
      )
    }
  }
}
