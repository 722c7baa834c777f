package io.epochal.core.error

import org.scalatest.funsuite.AnyFunSuite

final class ConditionsSuite extends AnyFunSuite {

  test("conditions.json has a text for each condition of the code, under the same name, and no others") {
    val declared = Conditions.getClass.getDeclaredMethods.toSeq
      .filter(method => method.getReturnType == classOf[Condition] && method.getParameterCount == 0)
      .map(method => method.getName -> method.invoke(Conditions).asInstanceOf[Condition].name)
    assert(declared.map(_._2).sorted == Conditions.all.map(_.name).sorted)
    declared.foreach { case (value, name) =>
      assert(name.matches("[A-Z][A-Z_]+") && value.equalsIgnoreCase(name.replace("_", "")))
    }
  }

  test("a message carries the name, the problem with the real values, and the hint") {
    val error = Conditions.EpochRegressed("epoch" -> 3, "sinkId" -> "s", "last" -> 7)
    assert(error.getMessage.startsWith("[EPOCHAL.EPOCH_REGRESSED] The query commits epoch 3 to sink 's'"))
    assert(error.getMessage.contains("already has epoch 7. Hint: "))
    assert(error.values("last") == "7")
  }

  test("a value with characters of a replacement pattern is shown as it is") {
    val error = Conditions.OptionUnknown("format" -> "f", "option" -> "a$1\\b", "suggestion" -> "s")
    assert(error.getMessage.contains("'a$1\\b'"))
  }

  test("a reason that ends in a point has no second one") {
    def reason(text: String) = Conditions.DatabaseUnreachable("url" -> "u", "reason" -> text).problem
    assert(reason("Connection refused.").endsWith("reached: Connection refused."))
    assert(reason("timed out").endsWith("reached: timed out.") && reason("waiting...").endsWith("waiting..."))
    val error = Conditions.DatabaseError("url" -> "u", "step" -> "s", "state" -> "XX000.", "reason" -> "a. b.")
    assert(error.problem.endsWith("SQLSTATE XX000, a. b."))
  }

  test("what is counted stands in the singular where it is one") {
    def attempts(n: Int) = Conditions.HttpTimeout("url" -> "u", "timeout" -> "5s", "attempts" -> n).getMessage
    assert(
      attempts(1).contains("(1 attempt).") && attempts(2).contains("(2 attempts).") && attempts(11).contains(
        "11 attempts"))
    assert(Plural.of(1, "record") == "1 record" && Plural.of(0, "record") == "0 records")
  }

  test("a message names options as the jar does, and its markup has references to them") {
    val error = Conditions.OptionConflict(
      "format" -> "f",
      "options" -> "{option:pageSize}, {option:requestBody={\"size\": ${pageSize}}}",
      "suggestion" -> "Set {option:url=…{id}…}. Use {trigger:availableNow}, {trigger:processingTime=1 second} or {schema:id INT}.")
    assert(error.getMessage.contains("options that exclude each other: pageSize, requestBody={\"size\": ${pageSize}}."))
    assert(
      error.getMessage.endsWith(
        "Use .trigger(availableNow=True), .trigger(processingTime=\"1 second\") or .schema(\"id INT\")."))
    assert(error.markup.contains("each other: {option:pageSize}, {option:requestBody={"))
    assert(error.values("suggestion").startsWith("Set url=…{id}…. Use .trigger(availableNow=True), "))
    assert(!error.problem.contains("{option"))
  }

  test("no text has words that are not the field's") {
    val words = "(?i)\\b(answer\\w*|look\\w*|turns?|dealt|passing|somebody)\\b".r
    Conditions.all.foreach { condition =>
      val text = s"${condition.text.problem} ${condition.text.hint} ${condition.text.batchHint.getOrElse("")}"
      assert(words.findFirstIn(text).isEmpty, condition)
    }
  }

  test("a message is one line, whatever line breaks its values have") {
    val error = Conditions.DatabaseError(
      "url" -> "u",
      "step" -> "commit",
      "state" -> "23505",
      "reason" -> "ERROR: duplicate\r\n  Detail: key 1\n")
    assert(error.getMessage.contains("SQLSTATE 23505, ERROR: duplicate Detail: key 1."))
    assert(!error.getMessage.exists(c => c == '\n' || c == '\r'))
  }

  test("a message shows the beginning of a value that is very long") {
    val long = "a" * 100000
    val error = Conditions.OptionUnknown("format" -> "f", "option" -> long, "suggestion" -> "s")
    assert(error.getMessage.contains(s"${"a" * 20000}…'") && error.getMessage.length < 20200)
    assert(error.values("option") == long)
  }

  test("a batch write has neither an epoch nor a query that could be started again, in no condition") {
    val ofStreams = Seq("EPOCH_", "LEDGER_", "TRIGGER_", "PROGRESS_")
    def isOfStreams(condition: Condition): Boolean =
      condition != Conditions.EpochTooLarge && ofStreams.exists(condition.name.startsWith(_))
    Conditions.all.filter(c => c.text.parameters("epoch") && !isOfStreams(c)).foreach { condition =>
      val values = condition.text.parameters.toSeq.map(_ -> "x").toMap + ("epoch" -> Condition.BatchWrite)
      val message = condition(values.toSeq: _*).getMessage
      val text = message.dropWhile(_ != ']').toLowerCase
      assert(!text.contains("epoch") && !text.contains("start the query") && !text.contains("(batch write)"), message)
    }
    val lost = Conditions.CommitUnknown("url" -> "u", "epoch" -> Condition.BatchWrite, "reason" -> "r").getMessage
    assert(lost.contains("while the batch was being committed") && lost.contains("A batch has no ledger"))
  }

  test("a redirection is shown with its parameters, and with no value that may be secret") {
    assert(
      Redaction.query(
        "https://u:p@h/a?page=2&token=abc&flag=&x=12345678901#f") == "https://h/a?page=2&token=***&flag=&x=***")
    assert(Redaction.query("https://h/a") == "https://h/a")
  }

  test("a condition without one of its values is a mistake of the caller") {
    assert(intercept[IllegalArgumentException](Conditions.EpochGap("epoch" -> 1)).getMessage.contains("sinkId"))
  }

  test("our exception is found under others") {
    val ours = Conditions.SchemaRequired("format" -> "f")
    assert(EpochalException.in(new RuntimeException(new IllegalStateException(ours))).contains(ours))
    assert(EpochalException.in(new RuntimeException("other")).isEmpty)
  }

  test("a URL is named without user, query and fragment") {
    assert(Redaction.url("https://me:pw@host:1/a/b?token=1#x") == "https://host:1/a/b")
    assert(Redaction.url("jdbc:postgresql://host/db?password=x") == "jdbc:postgresql://host/db")
    assert(Redaction.url("htps://host:80/users/@me?mail=a@b") == "htps://host:80/users/@me")
    Seq("p@w", "p/w", "p?w", "p#w", "p:w", "p//w@").foreach { password =>
      assert(!Redaction.url(s"https://me:$password@host/a").contains("w"), password)
    }
  }

  test("credentials in a text are masked") {
    val masked = Redaction.text("failed for http://u:pw@h/?api_key=S1&x=2; password=S2 Authorization: S3")
    assert(!masked.contains("S1") && !masked.contains("S2") && !masked.contains("pw@"))
    assert(masked.contains("x=2"))
  }
}
