package io.epochal.rest.source.since

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.source.RestOptions

/** Checks of the options `since*` when the DataFrame is built. */
final class SinceOptionsSuite extends AnyFunSuite {

  private val needed = Map(
    "url" -> "http://127.0.0.1/issues?page_size=5",
    "sinceField" -> "/updated_at",
    "sinceParam" -> "updated_since",
    "keyColumns" -> "id")

  private def refusal(options: Map[String, String]): String =
    RestOptions.read(options).fold(_.getMessage, good => fail(s"was taken: $good"))

  private def refusal(options: (String, String)*): String = refusal(needed ++ options)

  private def taken(options: (String, String)*): RestOptions =
    RestOptions.read(needed ++ options).fold(throw _, identity)

  test("a parameter and keys are required, and have no effect alone") {
    Seq("sinceParam", "keyColumns").foreach { name =>
      assert(refusal(needed - name).contains(s"needs the option '$name'"), name)
    }
    Seq("sinceParam" -> "s", "sinceStart" -> "2024-01-01", "sinceFormat" -> "raw", "sinceLag" -> "1m").foreach { one =>
      assert(refusal(Map("url" -> "http://127.0.0.1/a") + one).contains(s"${one._1} without sinceField"))
    }
  }

  test("values that no request can have are refused") {
    Seq("sinceStart" -> "yesterday", "sinceFormat" -> "rfc822", "sinceLag" -> "9999d", "sinceField" -> "updated_at")
      .foreach { one =>
        val error = refusal(one)
        assert(error.contains("OPTION_INVALID") && error.contains(s"'${one._1}'"), error)
      }
    assert(refusal("sinceFormat" -> "raw", "sinceLag" -> "5m").contains("it needs moments"))
    Seq("2024-01-01", "2024-01-01T00:00:00Z", "2024-01-01T02:00:00+02:00").foreach(text => taken("sinceStart" -> text))
    taken("sinceFormat" -> "raw", "sinceStart" -> "yesterday")
  }

  test("options that contradict are refused") {
    assert(refusal("bodyFormat" -> "csv").contains("it is a JSON Pointer"))
    assert(refusal("journal" -> "false").contains("always journalled"))
    assert(refusal("sinceParam" -> "page_size").contains("the parameter 'page_size'"))
    assert(refusal("params.updated_since" -> "x").contains("the parameter 'updated_since'"))
    assert(refusal("pagination" -> "page", "sinceParam" -> "page").contains("the parameter 'page'"))
    Seq("onDrift" -> "warn", "verifyPosition" -> "always", "keyField" -> "/id").foreach { one =>
      assert(refusal("records" -> "/data", "pagination" -> "offset", one).contains(s"sinceField, ${one._1}"), one._1)
    }
    val windows = Seq("pagination" -> "time-window", "windowStart" -> "2024-01-01T00:00:00Z", "windowLength" -> "1h")
    assert(refusal(windows: _*).contains("pagination=time-window, sinceField"))
    Seq("overlap" -> "1h").foreach(one => assert(refusal(one).contains("overlap")))
  }

  test("the value has one place, which the pagination must have") {
    val plain = needed - "sinceParam"
    val graph = plain ++ Map("pagination" -> "graphql", "connection" -> "/data/i", "sinceVariable" -> "s") +
      ("query" -> "query($after: T, $s: T) { i { nodes { id } pageInfo { hasNextPage endCursor } } }")
    val body = plain ++ Map("sinceBody" -> "/filter/at", "sinceStart" -> "2024-01-01")
    assert(refusal(body - "sinceStart").contains("sinceBody without sinceStart"))
    assert(refusal(body + ("sinceParam" -> "s")).contains("sinceParam, sinceBody"))
    assert(
      refusal(body + ("requestBody" -> """{"filter":"x"}""")).contains("sinceBody=/filter/at, a requestBody without"))
    assert(refusal(body + ("headers.Content-Type" -> "text/plain")).contains("the body is JSON"))
    Seq(Map("pagination" -> "link"), Map("pagination" -> "next-url", "nextUrl" -> "/n")).foreach { pages =>
      assert(refusal(body ++ pages).contains(s"pagination=${pages("pagination")}, sinceBody"))
    }
    assert(refusal(plain + ("sinceVariable" -> "s")).contains("pagination=none, sinceVariable"))
    assert(refusal(graph - "sinceVariable").contains("needs the option 'sinceVariable'"))
    assert(refusal(graph + ("sinceParam" -> "s")).contains("pagination=graphql, sinceParam"))
    assert(refusal(graph + ("sinceVariable" -> "t")).contains("sinceVariable=t, query without $t"))
    assert(refusal(graph + ("sinceVariable" -> "after")).contains("sinceVariable=after"))
    Seq("sinceBody" -> "/x", "sinceVariable" -> "s").foreach { one =>
      assert(refusal(Map("url" -> "http://127.0.0.1/a") + one).contains(s"${one._1} without sinceField"))
    }
  }

  test("a checkpoint belongs to the field, and neither to the start nor to the lag") {
    assert(taken().source.contains("sinceField=/updated_at"))
    assert(taken("sinceStart" -> "2024-01-01", "sinceLag" -> "1m").source == taken().source)
  }
}
