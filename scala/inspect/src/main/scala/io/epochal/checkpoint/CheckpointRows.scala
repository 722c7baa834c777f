package io.epochal.checkpoint

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.source.EventTime

/** Columns of `epochal-checkpoint`, documented in `docs/checkpoints.md`.
  *
  * One row per source and epoch, in order. An epoch without sources (its offsets are missing or unreadable) has one row. A checkpoint
  * without epochs has one row with NULL in `epoch`.
  */
private[checkpoint] object CheckpointRows {

  // TIMESTAMP_LTZ: the session decides what TIMESTAMP is.
  val schema: StructType = StructType.fromDDL("""
    query_id STRING, epoch BIGINT, logged BOOLEAN, committed BOOLEAN, source INT, source_name STRING, `offset` STRING,
    event_time TIMESTAMP_LTZ, watermark BIGINT, next_watermark BIGINT, batch_timestamp BIGINT, offsets_hash STRING,
    settings STRING, logged_at TIMESTAMP_LTZ, committed_at TIMESTAMP_LTZ, has_state BOOLEAN, problem STRING,
    stored_until TIMESTAMP_LTZ""")

  def of(checkpoint: Checkpoint): Seq[InternalRow] =
    for {
      epoch <- orNone(checkpoint.epochs)
      source <- orNone(epoch.toSeq.flatMap(one => content(one.offsets)).flatMap(_.sources))
    } yield row(checkpoint, epoch, source.map(_._1), source.flatMap(_._2))

  private def orNone[A](all: Seq[A]): Seq[Option[A]] = if (all.isEmpty) Seq(None) else all.map(Some(_))

  private def row(
      checkpoint: Checkpoint,
      epoch: Option[LoggedEpoch],
      source: Option[String],
      offset: Option[String]): InternalRow = {
    val offsets = epoch.flatMap(_.offsets)
    val commit = epoch.flatMap(_.commit)
    val log = content(offsets)
    // From the last epoch's offset or from the mark that the run left at its end, whichever is later.
    val isLast = epoch.map(_.number) == checkpoint.epochs.lastOption.map(_.number)
    val eventTime =
      (offset.flatMap(EventTime.read) ++ source.filter(_ => isLast).flatMap(checkpoint.marks.get)).maxOption
    InternalRow(
      text(checkpoint.queryId),
      value(epoch.map(_.number)),
      value(epoch.map(_ => offsets.isDefined)),
      value(epoch.map(_ => content(commit).isDefined)),
      value(source.flatMap(_.toIntOption)),
      text(source),
      text(offset),
      value(eventTime),
      value(log.flatMap(_.watermark)),
      value(content(commit).flatMap(_.nextWatermark)),
      value(log.flatMap(_.timestamp)),
      text(log.flatMap(_.hash)),
      text(log.map(_.settings)),
      value(offsets.map(_.modificationTime * 1000L)),
      value(commit.map(_.modificationTime * 1000L)),
      checkpoint.hasState,
      text(epoch.flatMap(problem)),
      value(source.filter(_ => isLast).flatMap(checkpoint.storedUntil.get))
    )
  }

  /** Unreadable files of an epoch, with reasons. */
  private def problem(epoch: LoggedEpoch): Option[String] = {
    val files = Seq("offsets" -> epoch.offsets, "commits" -> epoch.commit).collect {
      case (log, Some(LogEntry(_, Left(reason)))) => s"$log/${epoch.number} cannot be read: $reason"
    }
    Option.when(files.nonEmpty)(files.mkString("; "))
  }

  private def content[A](entry: Option[LogEntry[A]]): Option[A] = entry.flatMap(_.content.toOption)

  private def text(value: Option[String]): UTF8String = value.map(UTF8String.fromString).orNull

  private def value(content: Option[Any]): Any = content.orNull
}
