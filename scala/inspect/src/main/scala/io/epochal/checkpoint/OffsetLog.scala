package io.epochal.checkpoint

import scala.util.control.NonFatal

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

  /** @return
    *   Left: why Spark could not continue from the file
    */
  def read(text: String): Either[String, OffsetLog] =
    for {
      lines <- LogFile.lines(text)
      version <- LogFile.version(lines.head)
      _ <- Either.cond(lines.size > 1, (), "it ends after its first line")
      metadata <- LogFile.metadata(lines(1))
      sources <- if (version == "v2") named(lines.drop(2)) else Right(numbered(lines.drop(2)))
      _ <- sources.find { case (_, offset) => isTorn(offset) }.map { case (name, _) => torn(name) }.toLeft(())
    } yield OffsetLog(
      lines(1),
      sources.map { case (name, offset) => name -> Option.when(offset != Void)(offset) },
      LogFile.number(metadata, "batchWatermarkMs"),
      LogFile.number(metadata, "batchTimestampMs"),
      CheckpointOffsets.hash(text)
    )

  private def numbered(lines: Seq[String]): Seq[(String, String)] =
    lines.zipWithIndex.map { case (offset, place) => place.toString -> offset }

  private def named(lines: Seq[String]): Either[String, Seq[(String, String)]] =
    if (!lines.forall(_.contains(':'))) Left("a line has no name of a source: the file is torn")
    else
      Right(
        lines
          .map { line =>
            val colon = line.indexOf(':'.toInt)
            line.take(colon) -> line.drop(colon + 1)
          }
          .sortBy { case (name, _) => (name.toLongOption.getOrElse(Long.MaxValue), name) })

  /** An offset can be any text. One that begins like JSON and is not valid JSON is torn. */
  private def isTorn(offset: String): Boolean =
    (offset.startsWith("{") || offset.startsWith("[")) && LogFile.json(offset).isEmpty

  private def torn(name: String): String = s"the offset of source $name is not JSON: the file is torn"
}

/** Content of `commits/<epoch>`.
  *
  * @param nextWatermark
  *   watermark of the next epoch, milliseconds since 1970
  */
final case class CommitLog(nextWatermark: Option[Long])

object CommitLog {

  def read(text: String): Either[String, CommitLog] =
    for {
      lines <- LogFile.lines(text)
      _ <- LogFile.version(lines.head)
      metadata <- if (lines.size > 1) LogFile.metadata(lines(1)) else Right(None)
    } yield CommitLog(LogFile.number(metadata, "nextBatchWatermarkMs"))
}

/** The format common to both logs. */
private[checkpoint] object LogFile {
  private val mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
  private val Version = "v\\d+".r

  /** All lines without trailing empty ones, which Spark ignores, too; at least one. */
  def lines(text: String): Either[String, Seq[String]] = {
    val found = text.split('\n').toSeq.reverse.dropWhile(_.isEmpty).reverse
    Either.cond(found.nonEmpty, found, "it is empty")
  }

  def version(line: String): Either[String, String] = line match {
    case "v1" | "v2" => Right(line)
    case Version()   => Left(s"it is of version $line, and v1 and v2 are known")
    case _           => Left("it does not begin with a version")
  }

  /** None: the line is empty. */
  def metadata(line: String): Either[String, Option[JsonNode]] =
    if (line.trim.isEmpty) Right(None)
    else
      json(line) match {
        case Some(found) if found.isObject => Right(Some(found))
        case Some(_)                       => Left("its second line is not a JSON object")
        case None                          => Left("its second line is not JSON: the file is torn")
      }

  def json(text: String): Option[JsonNode] =
    try Option(mapper.readTree(text)).filterNot(_.isMissingNode)
    catch { case NonFatal(_) => None }

  def number(metadata: Option[JsonNode], name: String): Option[Long] =
    metadata.flatMap(found => Option(found.get(name))).filter(_.isIntegralNumber).map(_.longValue)
}
