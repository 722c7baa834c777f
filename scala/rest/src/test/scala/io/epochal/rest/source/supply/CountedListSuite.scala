package io.epochal.rest.source.supply

import scala.collection.mutable

import org.apache.hc.core5.http.message.BasicClassicHttpResponse
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.rest.http.{Bodies, HttpCall, ResponseHead}
import io.epochal.rest.source._

/** The polls of a counted list, without a server. */
final class CountedListSuite extends AnyFunSuite {

  /** A query over a list of ids, as the driver of a stream reads it. */
  final private class Listing(options: (String, String)*) {
    private val settings =
      RestOptions.read(Map("url" -> "http://h/c", "records" -> "/d") ++ options).fold(throw _, identity)
    private val list = new CountedList(settings)
    private val scan = settings.requests.scan(list.total.pointer.toSeq)
    private var state = list.start
    private var position: RestPosition = RestPosition.Planned(0, 0, Nil)
    val requests = mutable.Buffer.empty[String]
    var ids: Seq[Int] = Nil
    var total: () => String = () => s"${ids.size}"

    private def answer(call: HttpCall): PageAnswer = {
      val query = call.target.stripPrefix("/c").stripPrefix("?")
      requests += query
      val params =
        query.split('&').map(_.split("=", 2)).collect { case Array(name, value) => name -> value.toInt }.toMap
      val (from, size) = params.get("_start").map(_ -> params("_limit")).getOrElse {
        val size = params.getOrElse("per_page", Int.MaxValue)
        (params.get("page").fold(0)(page => (page - 1) * size), size)
      }
      val page = ids.slice(from, if (size == Int.MaxValue) size else from + size)
      val body = Bodies.of(s"""{"d":${page.map(id => s"""{"id":$id}""").mkString("[", ",", "]")},"total":${total()}}""")
      new PageAnswer(call.target, new ResponseHead(new BasicClassicHttpResponse(200)), scan.read(body), body, scan)
    }

    @scala.annotation.tailrec
    private def run[A](step: Step[A]): A = step match {
      case Step.Done(value)               => value
      case Step.Refuse(error)             => throw error
      case Step.Request(call, _, _, next) => run(next(Some(answer(call))))
    }

    private def run[A](step: ListStep[A]): A = {
      val (after, value) = run(step.from(state))
      state = after
      value
    }

    /** Another run: only the position is known. */
    def restart(): Unit = state = list.start

    /** Finds the end of a batch of at most so many records. */
    def next(most: Long = Long.MaxValue): RestPosition = {
      val end = run(list.exists(position.records, most, position.marks))
      RestPosition.Planned(end, 0, run(list.marksOfTasks(position.records, end, position.marks)))
    }

    /** Reads a batch. */
    def batch(most: Long = Long.MaxValue): Seq[Int] = {
      val start = position
      position = next(most)
      ids.slice(start.records.toInt, position.records.toInt)
    }

    def replay(end: RestPosition): Unit = run(list.replay(position, end))
  }

  private def shifted(body: => Any): String = {
    val error = intercept[EpochalException] { val _ = body }
    assert(error.condition.name == "LIST_SHIFTED", error)
    error.getMessage
  }

  private def mismatch(body: => Any): String = {
    val error = intercept[EpochalException] { val _ = body }
    assert(error.condition.name == "PAGINATION_MISMATCH", error)
    error.getMessage
  }

  private val total = Seq("totalCount" -> "/total")
  private val assumed = "endOfList" -> "assumed"
  private val kinds = for {
    (name, kind) <- Seq("none" -> Nil, "offset" -> Seq("pageSize" -> "10"), "page" -> Seq("pageSize" -> "10"))
    (more, options) <- Seq("" -> Nil, " with a total" -> total, " with a journal" -> Seq("journal" -> "true"))
    if name != "none" || more != " with a total"
  } yield (s"$name$more", ("pagination" -> name) +: (kind ++ options))

  kinds.foreach { case (name, options) =>
    test(s"$name: a list whose records shift is detected, though it is no shorter, also after a restart") {
      val changes = Seq[Seq[Int] => Seq[Int]](
        _.filterNot(_ == 3) ++ Seq(100, 101), // one deleted, two added
        list => -1 +: list, // one inserted
        list => list.take(20) ++ Seq(-1) ++ list.drop(20)
      )
      for (change <- changes; isRestarted <- Seq(true, false)) {
        val list = new Listing(options: _*)
        // With a total, the last record is seen if it is in the page of the last delivered one.
        val delivered = Seq(22, 25).flatMap { count =>
          list.ids = 0 until count
          list.batch()
        }
        assert(delivered == (0 until 25))
        if (isRestarted) list.restart()
        list.ids = change(0 until 25)
        assert(shifted(list.batch()).matches("(?s).*Record 2[14] of .*"))
      }
    }
  }

  Seq("offset", "page").foreach { kind =>
    test(s"$kind: a shift before a position on a page boundary is detected when the list is idle") {
      val list = new Listing("pagination" -> kind, "pageSize" -> "10", "verifyPosition" -> "never", assumed)
      list.ids = 0 until 30
      assert(list.batch() == (0 until 30))
      list.restart()
      list.ids = (0 until 30).filterNot(_ == 3) ++ Seq(100, 101)
      assert(list.batch() == Seq(101)) // 100 took the place of a delivered record.
      shifted(list.batch())
    }

    test(s"$kind: a total below the number of records, or above it, is refused") {
      // The last page by the total is full, or not.
      Seq("20", "25").foreach { capped =>
        val list = new Listing(total :+ ("pagination" -> kind) :+ ("pageSize" -> "10"): _*)
        list.ids = 0 until 30
        list.total = () => capped
        assert(mismatch(list.batch()).contains(s"10 records, and says that there are $capped in all"))
      }
      val list = new Listing(total :+ ("pagination" -> kind) :+ ("pageSize" -> "10"): _*)
      list.ids = 0 until 15
      assert(list.batch() == (0 until 15))
      list.total = () => "40"
      assert(mismatch(list.batch()).contains("records, and says that there are 40 in all"))
    }

    test(s"$kind: a total that is missing, or not a number, is refused by its place") {
      Seq("null" -> "does not say at '/total'", "\"many\"" -> "", "-1" -> "", "1.5" -> "").foreach {
        case (text, reason) =>
          val list = new Listing(total :+ ("pagination" -> kind): _*)
          list.ids = 0 until 30
          list.total = () => text
          val expected = if (reason.isEmpty) "at '/total', which is no number of records" else reason
          assert(mismatch(list.batch()).contains(expected))
      }
    }
  }

  private val large = 0 until 2400
  private def without20(list: Seq[Int]): Seq[Int] = list.filterNot(id => id >= 100 && id < 120)
  private def with5(list: Seq[Int]): Seq[Int] = (-5 to -1) ++ list
  private val changes = Seq[(String, Seq[Int] => Seq[Int])](("deletions", without20), ("insertions", with5))

  for {
    kind <- Seq("offset", "page")
    (name, more) <- Seq(
      "no total" -> Seq(assumed),
      "a total" -> total,
      "a journal" -> Seq(assumed, "journal" -> "true", "verifyPosition" -> "always"))
    (what, change) <- changes
  } test(s"$kind, $name: $what before a position on a page boundary are noticed at the next start") {
    val list = new Listing(more :+ ("pagination" -> kind): _*)
    list.ids = large
    assert(Seq(600, 600).flatMap(n => list.batch(n.toLong)) == (0 until 1200))
    list.restart()
    list.ids = change(large)
    shifted(list.batch(1200))
  }

  for {
    kind <- Seq("offset", "page")
    (name, more) <- Seq("in the response" -> Nil, "that is configured" -> total)
    rows <- Seq(600L, 1200L)
  } test(s"$kind: deletions while a backlog is read are noticed by a total $name, before a batch of $rows rows") {
    val list = new Listing(more :+ ("pagination" -> kind): _*)
    list.ids = large
    assert(Seq(600, 600).flatMap(n => list.batch(n.toLong)) == (0 until 1200))
    list.ids = without20(large)
    assert(shifted(list.next(rows)).contains("Record 1199 of"))
  }

  for {
    verify <- Seq("start", "always")
    (name, more) <- Seq("no total" -> Seq(assumed), "a total" -> total)
    (what, change) <- changes
  } test(s"$what before a planned batch are noticed by the start that replays it: verifyPosition=$verify, $name") {
    Seq(0, 1).foreach { batches =>
      val list = new Listing(more ++ Seq("pagination" -> "offset", "verifyPosition" -> verify): _*)
      list.ids = large
      (1 to batches).foreach(_ => list.batch(600))
      val end = list.next(600)
      list.restart()
      list.ids = change(large)
      shifted(list.replay(end))
    }
  }

  test("verifyPosition=always notices insertions while a backlog with a total is read") {
    val list = new Listing(Seq("pagination" -> "offset", "verifyPosition" -> "always") ++ total: _*)
    list.ids = large
    assert(list.batch(600) == (0 until 600))
    list.ids = with5(large)
    shifted(list.next(600))
  }

  test("a start costs one request more, and only if its poll does not request the page of the last record anyway") {
    Seq(1200L -> 1, 1150L -> 0).foreach { case (position, more) =>
      val counts = Seq("start", "never").map { mode =>
        val list = new Listing("pagination" -> "offset", "verifyPosition" -> mode, assumed)
        list.ids = large
        assert(list.batch(position).size == position)
        list.restart()
        Seq(1, 2).map { _ =>
          list.requests.clear()
          list.next(100): Unit
          list.requests.size
        }
      }
      assert(counts.head == Seq(counts(1).head + more, counts(1)(1)), position)
    }
  }

  test("pages of equal records are no proof that an API ignores the parameter for the page") {
    val list = new Listing("pagination" -> "offset", "pageSize" -> "2", assumed)
    list.ids = Seq.fill(6)(1)
    assert(list.batch() == Seq.fill(6)(1))
  }
}
