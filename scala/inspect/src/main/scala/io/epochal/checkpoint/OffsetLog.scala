package io.epochal.checkpoint

import scala.util.Try

import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

import io.epochal.kit.sink.CheckpointOffsets

/** Content of `offsets/<epoch>`.
  *
  * @param settings
  *   the second line, as written
  * @param sources
  *   name and offset of each source. Version 1 has no names: the name is the source's index in the plan. None: no offset yet
  * @param watermark
  *   milliseconds since 1970
  * @param timestamp
  *   when the epoch was planned, milliseconds since 1970
  * @param hash
  *   the offset hash, as in the ledger
  */
final case class OffsetLog(
    settings: String,
    sources: Seq[(String, Option[String])],
    watermark: Option[Long],
    timestamp: Option[Long],
    hash: Option[String])

object OffsetLog {
  private val Void = "-"
  private val Versions = Seq("v1", "v2")

  /** @return
    *   Left: why Spark could not continue from the file
    */
  def read(text: String): Either[String, OffsetLog] =
    for {
      file <- LogFile.read(text, Versions)
      _ <- Either.cond(file.lines.size > 1, (), "it ends after its first line")
      _ <- Either.cond(file.lines.size > 2, (), "it lists no sources: the file is torn")
      sources <- if (file.lines.head == "v2") named(file.lines.drop(2)) else Right(numbered(file.lines.drop(2)))
      _ <- sources
        .collectFirst {
          case (name, offset) if isTorn(offset) => s"the offset of source $name is not JSON: the file is torn"
        }
        .toLeft(())
    } yield OffsetLog(
      file.lines(1),
      sources.map { case (name, offset) => name -> Option.when(offset != Void)(offset) },
      file.number("batchWatermarkMs"),
      file.number("batchTimestampMs"),
      CheckpointOffsets.hash(text)
    )

  private def numbered(lines: Seq[String]): Seq[(String, String)] =
    lines.zipWithIndex.map { case (offset, place) => place.toString -> offset }

  private def named(lines: Seq[String]): Either[String, Seq[(String, String)]] = {
    val sources = lines.map(_.span(_ != ':')).sortBy { case (name, _) =>
      (name.toLongOption.getOrElse(Long.MaxValue), name)
    }
    if (sources.exists(_._2.isEmpty)) Left("a line has no name of a source: the file is torn")
    else Right(sources.map { case (name, rest) => name -> rest.tail })
  }

  /** An offset can be any text. One that begins like JSON and is not valid JSON is torn. */
  private def isTorn(offset: String): Boolean =
    (offset.startsWith("{") || offset.startsWith("[")) && LogFile.json(offset).isEmpty
}

/** Content of `commits/<epoch>`.
  *
  * @param nextWatermark
  *   watermark of the next epoch, milliseconds since 1970
  */
final case class CommitLog(nextWatermark: Option[Long])

object CommitLog {

  /** Version 2 adds the state's files, version 3 the names of the sinks. */
  private val Versions = Seq("v1", "v2", "v3")

  def read(text: String): Either[String, CommitLog] =
    for {
      file <- LogFile.read(text, Versions)
      sinks = file.metadata.flatMap(found => Option(found.get("sinkMetadataMap")))
      _ <- Either.cond(file.lines.head != "v3" || sinks.exists(!_.isEmpty), (), "it names no sink")
    } yield CommitLog(file.number("nextBatchWatermarkMs"))
}

/** A file of either log.
  *
  * @param lines
  *   at least one, without trailing empty ones, which Spark ignores, too
  * @param metadata
  *   the second line; None: it is empty or missing
  */
final private[checkpoint] case class LogFile(lines: Seq[String], metadata: Option[JsonNode]) {

  def number(name: String): Option[Long] =
    metadata.flatMap(found => Option(found.get(name))).filter(_.isIntegralNumber).map(_.longValue)
}

private[checkpoint] object LogFile {
  private val mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
  private val Version = "v\\d+".r

  /** @return
    *   Left: why Spark could not read the file
    */
  def read(text: String, versions: Seq[String]): Either[String, LogFile] = {
    val lines = text.split('\n').toSeq.reverse.dropWhile(_.isEmpty).reverse
    lines.headOption match {
      case None                                        => Left("it is empty")
      case Some(version) if versions.contains(version) => metadata(lines.lift(1).getOrElse("")).map(LogFile(lines, _))
      case Some(version @ Version()) =>
        Left(s"it is of version $version, and ${versions.init.mkString(", ")} and ${versions.last} are known")
      case Some(_) => Left("it does not begin with a version")
    }
  }

  private def metadata(line: String): Either[String, Option[JsonNode]] =
    if (line.trim.isEmpty) Right(None)
    else
      json(line)
        .toRight("its second line is not JSON: the file is torn")
        .filterOrElse(_.isObject, "its second line is not a JSON object")
        .map(Some(_))

  def json(text: String): Option[JsonNode] = Try(mapper.readTree(text)).toOption.filterNot(_.isMissingNode)
}
