package io.epochal.checkpoint

import org.scalatest.funsuite.AnyFunSuite

/** Parsers of Spark's log files, over frozen texts. */
final class OffsetLogSuite extends AnyFunSuite {

  private val settings = """{"batchWatermarkMs":5,"batchTimestampMs":1767225600000,"conf":{"a":"b"}}"""

  /** As Spark 4.3 writes it with queryEvolution.enableSinkEvolution. */
  private val namedSink =
    "v3\n" + """{"nextBatchWatermarkMs":0,"sinkMetadataMap":{"table_t":{"sinkName":"table_t","commitOffset":"-",""" +
      """"providerName":"io.epochal.jdbc.JdbcTable","apiVersion":"DSv2","isActive":true}}}"""

  test("version 1 lists the sources by index, and '-' is no offset") {
    val log = OffsetLog.read(s"v1\n$settings\n12\n-\n{\"logOffset\":3}\n").fold(fail(_), identity)
    assert(log.sources == Seq("0" -> Some("12"), "1" -> None, "2" -> Some("""{"logOffset":3}""")))
    assert((log.watermark, log.timestamp, log.settings) == ((Some(5L), Some(1767225600000L), settings)))
    assert(log.hash.exists(_.matches("[0-9a-f]{32}")))
  }

  test("version 2 names the sources, in any order") {
    val log = OffsetLog.read(s"v2\n$settings\n10:7\norders:{\"a\":{\"0\":1}}\n2:-").fold(fail(_), identity)
    assert(log.sources == Seq("2" -> None, "10" -> Some("7"), "orders" -> Some("""{"a":{"0":1}}""")))
    val other = OffsetLog.read(s"v2\n$settings\n2:-\norders:{\"a\":{\"0\":1}}\n10:7").fold(fail(_), identity)
    assert(other.hash == log.hash)
  }

  test("trailing empty lines are ignored") {
    assert(OffsetLog.read("\n\n") == Left("it is empty"))
  }

  test("settings may be missing, and unknown ones are kept") {
    assert(OffsetLog.read("v1\n\n12").exists(log => log.watermark.isEmpty && log.settings.isEmpty))
  }

  Seq(
    "" -> "it is empty",
    "v1" -> "it ends after its first line",
    "v1\n{\"batchWa" -> "its second line is not JSON: the file is torn",
    "v1\n[1]" -> "its second line is not a JSON object",
    s"v1\n$settings" -> "it lists no sources: the file is torn",
    s"v1\n$settings\n{\"v\":1" -> "the offset of source 0 is not JSON: the file is torn",
    s"v2\n$settings\n0" -> "a line has no name of a source: the file is torn",
    s"v3\n$settings" -> "it is of version v3, and v1 and v2 are known",
    "\u0000\u0000" -> "it does not begin with a version"
  ).foreach { case (text, reason) =>
    test(s"${text.replace('\n', ' ').replace('\u0000', '0')}: $reason")(assert(OffsetLog.read(text) == Left(reason)))
  }

  test("a commit contains the next watermark, in every version") {
    assert(CommitLog.read("v1\n{\"nextBatchWatermarkMs\":7}") == Right(CommitLog(Some(7L))))
    assert(CommitLog.read("v2\n{\"nextBatchWatermarkMs\":7,\"stateUniqueIds\":{}}") == Right(CommitLog(Some(7L))))
    assert(CommitLog.read(namedSink) == Right(CommitLog(Some(0L))))
    assert(CommitLog.read("v3\n{}") == Left("it names no sink"))
    assert(CommitLog.read("v4\n{}") == Left("it is of version v4, and v1, v2 and v3 are known"))
    assert(CommitLog.read("v1") == Right(CommitLog(None)))
    assert(CommitLog.read("") == Left("it is empty"))
  }
}
