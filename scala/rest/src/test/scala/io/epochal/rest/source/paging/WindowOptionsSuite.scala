package io.epochal.rest.source.paging

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.source._

/** Checks of the window options when the DataFrame is built. */
final class WindowOptionsSuite extends AnyFunSuite {

  private val needed =
    Map(
      "url" -> "http://127.0.0.1/events",
      "pagination" -> "time-window",
      "windowStart" -> "2026-01-01T00:00:00Z",
      "windowLength" -> "1h")

  private def refusal(options: (String, String)*): String =
    RestOptions.read(needed ++ options.toMap).fold(_.getMessage, good => fail(s"was taken: $good"))

  private def source(options: (String, String)*): String =
    RestOptions.read(needed ++ options.toMap).fold(throw _, _.source)

  test("a start and a length are required") {
    Seq("windowStart", "windowLength").foreach { name =>
      val error = RestOptions.read(needed - name).fold(_.getMessage, _.toString)
      assert(error.contains(s"needs the option '$name'"), error)
    }
  }

  test("moments and lengths must be expressible in requests") {
    Seq(
      "windowStart" -> "2026-01-01T00:00:00.500Z",
      "windowStart" -> "yesterday",
      "windowLength" -> "0s",
      "windowLength" -> "1500ms",
      "windowLength" -> "9999999999d",
      "windowFormat" -> "rfc822").foreach { case (name, value) =>
      val error = refusal(name -> value)
      assert(error.contains("OPTION_INVALID") && error.contains(s"'$name'"), error)
    }
    assert(refusal("overlap" -> "1ms", "keyColumns" -> "id").contains("whole seconds"))
    val millis =
      Seq("windowFormat" -> "epoch-millis", "windowStart" -> "2026-01-01T00:00:00.500Z", "windowLength" -> "1500ms")
    assert(source(millis: _*).nonEmpty)
    val dates = Seq("windowFormat" -> "iso-date", "windowLength" -> "1d")
    assert(source(dates: _*).nonEmpty)
    Seq("windowLength" -> "36h", "windowLength" -> "1h", "windowStart" -> "2026-01-01T01:00:00Z").foreach { wrong =>
      assert(refusal(dates :+ wrong: _*).contains(s"'${wrong._1}'"))
    }
    val overlap = refusal(dates ++ Seq("overlap" -> "1h", "keyColumns" -> "id"): _*)
    assert(overlap.contains("whole days, since windowFormat=iso-date has no fractions"))
  }

  test("an overlap requires keys, and keys an overlap") {
    assert(refusal("overlap" -> "5m").contains("overlap=5m without keyColumns"))
    assert(refusal("keyColumns" -> "id").contains("keyColumns without overlap"))
    assert(refusal("overlap" -> "101h", "keyColumns" -> "id").contains("at most 100 times windowLength"))
    assert(source("overlap" -> "100h", "keyColumns" -> "id").nonEmpty)
  }

  test("options of another pagination within windows than the selected one are refused") {
    assert(refusal("pageSize" -> "5").contains("Set pagination=offset or page"))
    assert(refusal("windowPagination" -> "page", "nextCursor" -> "/n").contains("nextCursor"))
    assert(refusal("hasMore" -> "/m").contains("hasMore"))
    assert(refusal("windowPagination" -> "cursor").contains("needs the option 'nextCursor'"))
    assert(refusal("windowPagination" -> "time-window").contains("OPTION_INVALID"))
    assert(refusal("journal" -> "false").contains("always journalled"))
    assert(source("bodyFormat" -> "csv").nonEmpty)
    val keyed = refusal("bodyFormat" -> "csv", "overlap" -> "1h", "keyColumns" -> "id")
    assert(keyed.contains("other: overlap, keyColumns, bodyFormat=csv. Hint: Leave overlap and keyColumns out:"))
    assert(
      refusal("bodyFormat" -> "csv", "windowPagination" -> "cursor", "nextCursor" -> "/n").contains("bodyFormat=csv"))
    assert(refusal("pagination" -> "offset").contains("Set pagination=time-window"))
    assert(source("windowPagination" -> "page", "hasMore" -> "/more", "records" -> "/data").nonEmpty)
  }

  test("the parameters of the window cannot be set a second time") {
    assert(refusal("params.from" -> "x").contains("the parameter 'from'"))
    assert(refusal("params.to" -> "x").contains("the parameter 'to'"))
    assert(refusal("windowPagination" -> "page", "params.page" -> "1").contains("the parameter 'page'"))
    assert(refusal("windowToParam" -> "from").contains("Give each parameter its own name"))
  }

  test("a body selects both the window and the page, or neither") {
    val place = "$"
    assert(refusal("requestBody" -> s"$place{windowFrom}").contains(s"requestBody without $place{windowTo}"))
    assert(
      refusal("requestBody" -> s"$place{windowFrom} $place{windowTo} $place{page}")
        .contains(s"$place{page} in requestBody"))
    val both = s"$place{windowFrom} $place{windowTo}"
    assert(refusal("requestBody" -> both, "windowPagination" -> "page").contains(s"requestBody without $place{page}"))
    assert(refusal("requestBody" -> both, "windowFromParam" -> "since").contains("windowFromParam"))
    assert(refusal("requestBody" -> both, "windowPagination" -> "link").contains("requested with GET"))
    Seq(Seq("requestBody" -> both), Seq("requestBody" -> "{}")).foreach(options => assert(source(options: _*).nonEmpty))
  }

  test("a checkpoint belongs to the pagination within windows, and to no window's length or start") {
    assert(source() == "http://127.0.0.1/events (time-window)")
    val pages = Seq("windowPagination" -> "page", "firstPage" -> "0")
    assert(source(pages: _*) == "http://127.0.0.1/events (time-window, windowPagination=page, firstPage=0)")
    assert(source("windowStart" -> "2025-01-01T00:00:00Z", "windowLength" -> "1d", "lag" -> "1h") == source())
  }
}
