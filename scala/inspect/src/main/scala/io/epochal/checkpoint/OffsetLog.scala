package io.epochal.checkpoint

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
      _ <- Either.cond(file.log.lines.size > 1, (), "it ends after its first line")
      _ <- Either.cond(file.log.sources.nonEmpty, (), "it lists no sources: the file is torn")
      sources <- if (file.log.lines.head == "v2") nameLines(file.log.sources) else Right(numberLines(file.log.sources))
      _ <- sources
        .collectFirst {
          case (name, offset) if isTorn(offset) => s"the offset of source $name is not JSON: the file is torn"
        }
        .toLeft(())
    } yield OffsetLog(
      file.log.lines(1),
      sources.map { case (name, offset) => name -> Option.when(offset != Void)(offset) },
      file.number("batchWatermarkMs"),
      file.number("batchTimestampMs"),
      file.log.offsetsHash
    )

  private def numberLines(lines: Seq[String]): Seq[(String, String)] =
    lines.zipWithIndex.map { case (offset, place) => place.toString -> offset }

  private def nameLines(lines: Seq[String]): Either[String, Seq[(String, String)]] = {
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
