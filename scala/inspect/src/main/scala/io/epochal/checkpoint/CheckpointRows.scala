package io.epochal.checkpoint

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{BooleanType, IntegerType, LongType, StringType, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.source.EventTime

/** Columns of `epochal-checkpoint`, documented in `docs/checkpoints.md`.
  *
  * One row per source and epoch, in order. An epoch without sources (its offsets are missing or unreadable) has one row. A checkpoint
  * without epochs has one row with NULL in `epoch`.
  */
private[checkpoint] object CheckpointRows {

  val schema: StructType = new StructType()
    .add("query_id", StringType)
    .add("epoch", LongType)
    .add("logged", BooleanType)
    .add("committed", BooleanType)
    .add("source", IntegerType)
    .add("source_name", StringType)
    .add("offset", StringType)
    .add("event_time", TimestampType)
    .add("watermark", LongType)
    .add("next_watermark", LongType)
    .add("batch_timestamp", LongType)
    .add("offsets_hash", StringType)
    .add("settings", StringType)
    .add("logged_at", TimestampType)
    .add("committed_at", TimestampType)
    .add("has_state", BooleanType)
    .add("problem", StringType)

  def of(checkpoint: Checkpoint): Seq[InternalRow] =
    if (checkpoint.epochs.nonEmpty) checkpoint.epochs.flatMap(rows(checkpoint, _))
    else Seq(row(checkpoint, None, None))

  private def rows(checkpoint: Checkpoint, epoch: LoggedEpoch): Seq[InternalRow] = {
    val sources = content(epoch.offsets).toSeq.flatMap(_.sources)
    if (sources.isEmpty) Seq(row(checkpoint, Some(epoch), None))
    else sources.map(source => row(checkpoint, Some(epoch), Some(source)))
  }

  private def row(
      checkpoint: Checkpoint,
      epoch: Option[LoggedEpoch],
      source: Option[(String, Option[String])]): InternalRow = {
    val offsets = epoch.flatMap(_.offsets)
    val commit = epoch.flatMap(_.commit)
    val log = content(offsets)
    InternalRow(
      text(checkpoint.queryId),
      value(epoch.map(_.number)),
      value(epoch.map(_ => offsets.isDefined)),
      value(epoch.map(_ => content(commit).isDefined)),
      value(source.flatMap { case (name, _) => name.toIntOption }),
      text(source.map { case (name, _) => name }),
      text(source.flatMap { case (_, offset) => offset }),
      value(eventTime(checkpoint, epoch, source)),
      value(log.flatMap(_.watermark)),
      value(content(commit).flatMap(_.nextWatermark)),
      value(log.flatMap(_.timestamp)),
      text(log.flatMap(_.hash)),
      text(log.map(_.settings)),
      value(offsets.map(_.modified * 1000L)),
      value(commit.map(_.modified * 1000L)),
      checkpoint.hasState,
      text(epoch.flatMap(problem))
    )
  }

  /** Event time from the last epoch's offset or from the mark that the run left at its end, whichever is later. */
  private def eventTime(
      checkpoint: Checkpoint,
      epoch: Option[LoggedEpoch],
      source: Option[(String, Option[String])]): Option[Long] = {
    val logged = source.flatMap { case (_, offset) => offset }.flatMap(EventTime.read)
    val isLast = epoch.map(_.number) == checkpoint.epochs.lastOption.map(_.number)
    val mark = source.filter(_ => isLast).flatMap { case (name, _) => checkpoint.marks.get(name) }
    (logged ++ mark).maxOption
  }

  /** Unreadable files of an epoch, with reasons. */
  private def problem(epoch: LoggedEpoch): Option[String] = {
    val found = Seq("offsets" -> epoch.offsets, "commits" -> epoch.commit).collect {
      case (log, Some(LogEntry(_, Left(reason)))) => s"$log/${epoch.number} cannot be read: $reason"
    }
    Option.when(found.nonEmpty)(found.mkString("; "))
  }

  private def content[A](entry: Option[LogEntry[A]]): Option[A] = entry.flatMap(_.content.toOption)

  private def text(value: Option[String]): UTF8String = value.map(UTF8String.fromString).orNull

  private def value(found: Option[Any]): Any = found.orNull
}
