package io.epochal.checkpoint

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
      sinks = file.metadata.flatMap(node => Option(node.get("sinkMetadataMap")))
      _ <- Either.cond(file.log.lines.head != "v3" || sinks.exists(!_.isEmpty), (), "it names no sink")
    } yield CommitLog(file.number("nextBatchWatermarkMs"))
}
