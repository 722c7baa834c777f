package io.epochal.rest.source.supply

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.source._

final class ListMarksSuite extends AnyFunSuite {

  private val none = ListMarks("", hasTotal = false)

  private def page(first: Long, size: Long = 10): PageRequest = PageRequest("", first, size)

  /** The marks after a page whose records have these digests. */
  private def seen(marks: ListMarks, first: Long, digest: Long => String, records: Long = 10): ListMarks =
    marks.next(PageFacts(records, digests = marks.candidates(page(first), records).map(n => n -> digest(n))))

  test("a page's last record, those around the poll's bounds and those seen before are wanted, in order") {
    assert(none.begin(0, 100, Nil).candidates(page(0), 10) == Seq(9))
    val marks = none.begin(5, 8, Seq(Mark(3, "c", ""), Mark(30, "x", ""), Mark(2, "b", "/id")))
    assert(marks.candidates(page(0), 10) == Seq(3, 4, 7, 9) && marks.candidates(page(30), 4) == Seq(33))
  }

  test("a delivered record with another digest is a shift; the first one of a poll counts") {
    val before = seen(none.begin(0, 10, Nil), 0, n => s"$n")
    val same = seen(before.begin(10, 20, Nil), 0, n => s"$n")
    assert(same.firstShift.isEmpty)
    val other = seen(before.begin(10, 20, Nil), 0, n => s"other $n")
    assert(other.firstShift.contains(9L))
    assert(seen(before.begin(9, 20, Nil), 0, n => s"other $n").firstShift.isEmpty, "it was not delivered")
    assert(other.begin(10, 20, Nil).firstShift.isEmpty)
  }

  test("another run's digests are compared once, unless the page has not changed") {
    val mark = Mark(4, "d", "")
    val begun = none.begin(5, 20, Seq(mark))
    assert(begun.waitingMarks(Seq(mark, Mark(2, "b", "/id"))) == Seq(mark))
    assert(seen(begun, 0, _ => "x").firstShift.contains(4L))
    assert(seen(begun, 0, n => if (n == 4) "d" else "x").waitingMarks(Seq(mark)).isEmpty)
    assert(begun.afterNotModified(page(0)).waitingMarks(Seq(mark)).isEmpty)
    assert(begun.afterNotModified(page(10)).waitingMarks(Seq(mark)) == Seq(mark))
  }

  test("a position is marked by the last record before it, and by an older one not compared since") {
    val mark = Mark(4, "d", "")
    val begun = none.begin(5, 20, Seq(mark))
    assert(begun.at(5, Seq(mark)) == Seq(mark))
    val later = seen(begun, 10, n => s"$n")
    assert(later.at(20, Seq(mark)) == Seq(mark, Mark(19, "19", "")))
    assert(later.at(15, Seq(mark)) == Seq(mark))
    assert(seen(none.begin(5, 20, Nil), 0, n => s"$n").at(5, Seq(mark)) == Seq(Mark(4, "4", "")))
  }

  test("after a list was replaced, only digests of this poll count") {
    val old = seen(none.begin(0, 10, Nil), 0, n => s"$n")
    val poll = seen(old.begin(10, 20, Nil), 10, n => s"$n", records = 3)
    assert(old.digests.keySet == Set(9L) && poll.forget(Nil).digests.keySet == Set(12L))
  }

  test("only the latest sixteen digests are held") {
    val many =
      (0L until 40L).foldLeft(none)((marks, n) => seen(marks.begin(n * 10, n * 10 + 10, Nil), n * 10, _.toString))
    assert(many.digests.size <= 16 && many.digests.contains(399) && !many.digests.contains(9))
  }
}
