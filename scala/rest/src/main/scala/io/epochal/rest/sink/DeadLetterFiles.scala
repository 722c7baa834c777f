package io.epochal.rest.sink

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.epochal.core.error.Conditions
import io.epochal.rest.sink.Template.quote

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
  def check(): Unit = guard {
    if (!fs.mkdirs(directory)) throw new IOException("the directory cannot be made")
  }

  /** Replaces the file of an epoch with exactly these rows. */
  def replace(queryId: String, epoch: String, sink: String, rows: Iterable[RefusedRow]): Unit = guard {
    val file = new Path(directory, s"$queryId-$epoch.jsonl")
    if (rows.isEmpty) { if (fs.exists(file)) fs.delete(file, false): Unit }
    else {
      fs.mkdirs(directory): Unit
      val partial = new Path(directory, s"_${file.getName}.${UUID.randomUUID()}")
      Using.resource(fs.create(partial, false)) { out =>
        rows.foreach(row => out.write(DeadLetterFiles.line(sink, epoch, row).getBytes(UTF_8)))
      }
      if (fs.exists(file)) fs.delete(file, false): Unit
      if (!fs.rename(partial, file)) throw new IOException(s"$partial cannot be renamed")
    }
  }

  private def guard[A](body: => A): A =
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
    val key = if (row.key.isEmpty) "null" else quote(row.key)
    s"""{"sink":${quote(sink)},"epoch":${quote(epoch)},"partition":${row.partition},"row":${row.row},"key":$key,""" +
      s""""reason":${quote(row.reason)},"value":${row.json}}\n"""
  }
}
