package io.epochal.rest.source.paging

import java.time.Instant

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.rest.source._

final class WindowPositionSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val window = Window(Instant.parse("2026-01-01T00:00:00Z"), Instant.parse("2026-01-01T01:00:00Z"))
  private val seen = Seq(SeenWindow(Instant.parse("2026-01-01T00:30:00Z"), 7), SeenWindow(window.to, 120))

  // Written by release 0.1.0; must stay readable.
  private val frozen = Map(
    "2026-01-01T00:00:00Z/2026-01-01T01:00:00Z" -> WindowPosition(window, None, keyed = true),
    "2026-01-01T00:00:00Z/2026-01-01T01:00:00Z;2026-01-01T00:30:00Z@7;2026-01-01T01:00:00Z@120" ->
      WindowPosition(window, None, keyed = true, seen),
    "2026-01-01T00:00:00Z/2026-01-01T01:00:00Z;2026-01-01T00:30:00Z@7;2026-01-01T01:00:00Z@120|c|4;x@1" ->
      WindowPosition(window, Some("c|4;x@1"), keyed = true, seen),
    "2026-01-01T00:00:00Z/2026-01-01T01:00:00Z!/events?from={0}" ->
      WindowPosition(window, Some("/events?from={0}"), keyed = false)
  )

  test("the tokens of release 0.1.0 are read, and written unchanged") {
    frozen.foreach { case (text, position) =>
      assert(WindowPosition.parse(text).contains(position) && position.text == text)
    }
  }

  test("a position survives its text, with any page name") {
    val moments = Gen.choose(0L, 4102444800000L).map(Instant.ofEpochMilli)
    val windows = Gen.zip(moments, moments).map((Window.apply _).tupled)
    val listed = Gen.listOf(Gen.zip(moments, Gen.choose(0L, Long.MaxValue)).map((SeenWindow.apply _).tupled))
    val page = Gen.option(Gen.frequency(3 -> Gen.asciiPrintableStr, 1 -> Gen.const("a\nb")))
    forAll(windows, page, Gen.oneOf(true, false), listed) { (window, page, keyed, seen) =>
      val position = WindowPosition(window, page, keyed || page.isEmpty, seen, paged = seen.size % 2 == 1)
      assert(WindowPosition.parse(position.text).contains(position))
    }
  }

  test("other texts are refused") {
    Seq("", "c5", "2026-01-01T00:00:00Z", "a/b", "/events?page=2", "2026-01-01T00:00:00Z/2026-01-01T01:00:00Z;x")
      .foreach(text => assert(WindowPosition.parse(text).isEmpty, text))
  }
}
