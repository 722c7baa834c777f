package io.epochal.rest.sink

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.collection.mutable
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.rest.http.HttpCounts
import io.epochal.rest.sink.Template.quoted

/** A row that could not be sent, or that the server rejected.
  *
  * @param row
  *   its number in the partition, from 1
  * @param key
  *   the idempotency key of its request; empty without one
  * @param json
  *   the whole row
  */
final private[rest] case class RefusedRow(partition: Int, row: Long, key: String, reason: String, json: String)

/** A task's message to the driver once each of its rows is accepted or rejected. */
final private[rest] case class RestTaskMessage(
    partition: Int,
    rows: Long,
    sentBytes: Long,
    counts: HttpCounts,
    refused: Array[RefusedRow]
) extends WriterCommitMessage

/** The rejected rows of one attempt of one task, in memory until its commit message.
  *
  * @param limit
  *   per epoch; None: the first one fails it
  */
final private[rest] class RefusedRows(limit: Option[Int], partition: Int, epoch: String, place: String) {
  private val rows = mutable.ArrayBuffer.empty[RefusedRow]
  private var chars = 0L

  /** @throws EpochalException
    *   if the row fails its epoch
    */
  def add(row: Long, key: String, reason: String, json: => String): Unit = {
    val maxRows = limit.getOrElse(throw RefusedRows.refused(partition, row, epoch, place, reason))
    rows += RefusedRow(partition, row, key, reason, json)
    chars += rows.last.json.length
    if (rows.size > maxRows) throw RefusedRows.tooMany(epoch, s"{option:maxBadRows=$maxRows}", rows.head)
    if (chars > RefusedRows.MaxChars)
      throw RefusedRows.tooMany(epoch, s"${RefusedRows.MaxChars} characters of JSON in one task", rows.head)
  }

  def result(): Array[RefusedRow] = rows.toArray
}

private[rest] object RefusedRows {

  /** Bounds the memory of the task, and of the driver, which collects all tasks' rows. */
  val MaxChars: Long = 16L << 20

  def refused(partition: Int, row: Long, epoch: String, place: String, reason: String): EpochalException =
    Conditions.RowRefused("row" -> row, "partition" -> partition, "epoch" -> epoch, "url" -> place, "reason" -> reason)

  def tooMany(epoch: String, limit: String, first: RefusedRow): EpochalException = Conditions.TooManyRefusedRows(
    "epoch" -> epoch,
    "limit" -> limit,
    "row" -> first.row,
    "partition" -> first.partition,
    "reason" -> first.reason)
}

/** Rejected rows as JSON lines: one file per epoch that has any, `<query id>-<epoch>.jsonl`.
  *
  * The driver writes the file before Spark marks the epoch as done, and a replay rewrites or removes it, so that a row
  * is there once. The file is written under a name that Spark does not read, and then renamed. A crash between the
  * removal of an old file and the renaming is followed by a replay.
  */
final private[rest] class DeadLetterFiles(path: String, hadoop: => Configuration) {

  private lazy val directory = new Path(path)
  private lazy val fs: FileSystem = directory.getFileSystem(hadoop)

  /** Creates the directory.
    *
    * @throws EpochalException
    *   DEAD_LETTERS_UNWRITABLE
    */
  def check(): Unit = guarded {
    if (!fs.mkdirs(directory)) throw new IOException("the directory cannot be made")
  }

  /** Replaces the file of an epoch with exactly these rows. */
  def replace(queryId: String, epoch: String, sink: String, rows: Iterable[RefusedRow]): Unit = guarded {
    val file = new Path(directory, s"$queryId-$epoch.jsonl")
    if (rows.isEmpty) { if (fs.exists(file)) fs.delete(file, false): Unit }
    else {
      fs.mkdirs(directory): Unit
      val unfinished = new Path(directory, s"_${file.getName}.${UUID.randomUUID()}")
      Using.resource(fs.create(unfinished, false)) { out =>
        rows.foreach(row => out.write(DeadLetterFiles.line(sink, epoch, row).getBytes(UTF_8)))
      }
      if (fs.exists(file)) fs.delete(file, false): Unit
      if (!fs.rename(unfinished, file)) throw new IOException(s"$unfinished cannot be renamed")
    }
  }

  private def guarded[A](body: => A): A =
    try body
    catch {
      case error @ (_: IOException | _: IllegalArgumentException) =>
        throw Conditions.DeadLettersUnwritable
          .because(error)("path" -> path, "reason" -> String.valueOf(error.getMessage))
    }
}

private[rest] object DeadLetterFiles {

  /** The row's own JSON is embedded as it is. */
  def line(sink: String, epoch: String, row: RefusedRow): String = {
    val key = if (row.key.isEmpty) "null" else quoted(row.key)
    s"""{"sink":${quoted(sink)},"epoch":${quoted(epoch)},"partition":${row.partition},"row":${row.row},"key":$key,""" +
      s""""reason":${quoted(row.reason)},"value":${row.json}}\n"""
  }
}
