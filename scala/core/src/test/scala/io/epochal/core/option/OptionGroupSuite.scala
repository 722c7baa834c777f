package io.epochal.core.option

import java.time.Duration

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

import io.epochal.core.error.{Condition, Conditions}

final class OptionGroupSuite extends AnyFunSuite {

  private val url = OptionSpec("url", OptionType.string, "where", required = true, sample = Some("http://host"))
  private val pageSize = OptionSpec("pageSize", OptionType.int(1, 1000), "rows a page", Some(100))
  private val timeout = OptionSpec("timeout", OptionType.duration, "time", Some(Duration.ofSeconds(30)))
  private val headers = OptionSpec("headers.*", OptionType.string, "headers", secret = true)
  private val kind = OptionSpec("pagination", OptionType.oneOf("none", "offset"), "kind", Some("none"))
  private val password = OptionSpec("password", OptionType.int(0), "a secret number", secret = true)
  private val group = OptionGroup("test-format", "A format.", Seq(url, pageSize, timeout, headers, kind, password))

  private def parsed(options: (String, String)*): OptionValues =
    group.parse(Map("url" -> "u") ++ options).fold(throw _, identity)

  private def refused(options: (String, String)*): (Condition, String) =
    group.parse(Map("url" -> "u") ++ options) match {
      case Left(error)   => (error.condition, error.getMessage)
      case Right(values) => fail(s"was accepted: $values")
    }

  test("names match in any case, values are trimmed, defaults fill the rest") {
    val values = parsed("PAGESIZE" -> " 7 ", "Pagination" -> "OFFSET")
    assert(values(pageSize) == 7 && values(kind) == "offset" && values(timeout) == Duration.ofSeconds(30))
    assert(values.isSet(pageSize) && !values.isSet(timeout))
  }

  test("a family keeps the case of names after its prefix") {
    assert(parsed("Headers.X-Trace" -> "1").family(headers) == Map("X-Trace" -> "1"))
  }

  test("an unknown name is rejected with the nearest known one") {
    forAll(Table("wrong" -> "right", "pageSzie" -> "pageSize", "page_size" -> "pageSize", "tiemout" -> "timeout")) {
      (wrong, right) =>
        val (condition, message) = refused(wrong -> "1")
        assert(condition == Conditions.OptionUnknown && message.contains(s"Did you mean '$right'?"))
    }
    assert(refused("zzz" -> "1")._2.contains("Its options are url, pageSize"))
    val (condition, message) = refused("tiemout" -> "1", "pageSize" -> "wrong", "pageSzie" -> "1", "zzz" -> "1")
    assert(condition == Conditions.OptionUnknown)
    assert(
      message.contains("has no option 'pageSzie' or 'tiemout' or 'zzz'. Hint: Did you mean 'pageSize' and 'timeout'?"))
  }

  test("options that Spark itself passes to sources and sinks are not unknown") {
    parsed("checkpointLocation" -> "x", "queryName" -> "q", "asyncProgressTrackingEnabled" -> "false")
  }

  test("the argument of start(…), save(…) and load(…) is refused by a format that has no path") {
    Seq("path" -> "orders", "paths" -> """["a","b"]""").foreach { argument =>
      val (condition, message) = refused(argument)
      assert(condition == Conditions.OptionUnknown)
      assert(message.contains("Call start(), save() and load() without a path."))
    }
    val own = OptionGroup("files", "Files.", Seq(OptionSpec("path", OptionType.string, "where")))
    val path = Map("path" -> "x")
    Seq(path, path ++ Map("owner" -> "me", "provider" -> "files")).foreach(options =>
      assert(own.parse(options).exists(_.isSet(own.specs.head))))
  }

  test("a value that is not of its type is rejected with the expected type") {
    forAll(
      Table(
        ("option", "value", "expected"),
        ("pageSize", "0", "a whole number from 1 to 1000"),
        ("pageSize", "ten", "a whole number from 1 to 1000"),
        ("timeout", "30", "a length of time"),
        ("timeout", "99999999999999999999s", "a length of time"),
        ("pagination", "both", "one of none, offset")
      )
    ) { (option, value, expected) =>
      val (condition, message) = refused(option -> value)
      assert(condition == Conditions.OptionInvalid && message.contains(expected) && message.contains(s"'$value'"))
    }
  }

  test("a missing required option is reported with an example") {
    val error = group.parse(Map.empty).left.toOption.get
    assert(error.condition == Conditions.OptionRequired && error.getMessage.contains("url=http://host"))
  }

  test("a secret appears neither in an error nor in the printed options") {
    assert(!refused("password" -> "hunter2")._2.contains("hunter2"))
    val printed = parsed("password" -> "4711", "headers.Authorization" -> "Bearer S").toString
    assert(!printed.contains("4711") && !printed.contains("Bearer") && printed.contains("headers.Authorization=***"))
  }

  test("options that exclude each other are reported") {
    val both = parsed("pageSize" -> "1", "timeout" -> "1s").exclusive("Choose.")(pageSize, timeout)
    assert(both.left.toOption.exists(_.getMessage.contains("pageSize, timeout")))
    assert(parsed("pageSize" -> "1").exclusive("Choose.")(pageSize, timeout).isRight)
  }

  test("durations and sizes are parsed in their usual forms, and rendered") {
    forAll(Table("text" -> "millis", "500ms" -> 500L, "30s" -> 30000L, "2 minutes" -> 120000L, "1h" -> 3600000L)) {
      (text, millis) =>
        assert(OptionType.duration.parse(text).map(_.toMillis).contains(millis))
        assert(
          OptionType.duration
            .parse(OptionType.duration.render(Duration.ofMillis(millis)))
            .map(_.toMillis)
            .contains(millis)
        )
    }
    forAll(Table("text" -> "bytes", "64m" -> (64L << 20), "1024" -> 1024L, "2 KB" -> 2048L, "1g" -> (1L << 30))) {
      (text, bytes) =>
        assert(OptionType.bytes.parse(text).contains(bytes))
        assert(OptionType.bytes.parse(OptionType.bytes.render(bytes)).contains(bytes))
    }
    assert(OptionType.bytes.parse("9999999999999g").isEmpty && OptionType.bytes.parse("0").isEmpty)
  }

  test("a value close to an allowed one is rejected with that one") {
    val (condition, message) = refused("pagination" -> "ofset")
    assert(condition == Conditions.OptionInvalid)
    assert(message.contains("is 'ofset', which is not one of none, offset. Hint: Did you mean pagination=offset?"))
    assert(refused("pagination" -> "sideways")._2.contains("Hint: Set it like this: pagination=none."))
  }

  test("a suggested part is shown within the whole value, and a value far from all gets an example") {
    def wrong(value: String) =
      group.invalid(kind, value, "one of a, bc", Seq("a", "offset"), right => s"none,$right").getMessage
    assert(wrong("ofset").contains("is 'ofset', which is not one of a, bc. Hint: Did you mean pagination=none,offset?"))
    assert(wrong("zzzzzz").contains("Hint: Set it like this: pagination=none."))
  }

  test("a catalog table's other properties are not options, and are unknown without a catalog table") {
    val catalogs =
      Seq("owner" -> "me", "provider" -> "test-format", "location" -> "/x", "path" -> "/x", "option.pagesize" -> "7")
    assert(parsed(catalogs :+ ("pageSize" -> "7"): _*).get(pageSize).contains(7))
    assert(refused("owner" -> "me")._1 == Conditions.OptionUnknown)
    assert(refused("option.pagesize" -> "7")._1 == Conditions.OptionUnknown)
  }

  test("a catalog table that was created without its options gets an error that says so") {
    val made = group.parse(Map("owner" -> "me", "provider" -> "test-format"))
    assert(
      made.left.exists(error => error.condition == Conditions.ModeUnsupported && error.getMessage.contains("toTable")))
    val incomplete = Map("owner" -> "me", "provider" -> "test-format", "pageSize" -> "7", "option.pageSize" -> "7")
    assert(
      group
        .parse(incomplete)
        .left
        .exists(error => error.condition == Conditions.OptionRequired && error.values("option") == "url"))
  }
}
