package io.epochal.checkpoint

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

import io.epochal.kit.sink.CheckpointOffsets

/** The content of `offsets/<epoch>`.
  *
  * @param settings
  *   the second line, as written
  * @param sources
  *   name and offset of each source; in version 1, which has no names, the source's place in the plan. None: the source had no
  *   offset yet
  * @param watermark
  *   milliseconds since 1970
  * @param timestamp
  *   when the epoch was planned, milliseconds since 1970
  * @param hash
  *   as in the ledger
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
    *   the content, or why Spark could not continue from it
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

  /** A source may write any text; text that begins like JSON and is not JSON is torn. */
  private def isTorn(offset: String): Boolean =
    (offset.startsWith("{") || offset.startsWith("[")) && LogFile.json(offset).isEmpty

  private def torn(name: String): String = s"the offset of source $name is not JSON: the file is torn"
}

/** The content of `commits/<epoch>`.
  *
  * @param nextWatermark
  *   of the epoch after it, milliseconds since 1970
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

/** The format that both logs share. */
private[checkpoint] object LogFile {
  private val mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
  private val Version = "v\\d+".r

  /** All lines but empty ones at the end, which Spark ignores, too; at least one. */
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
