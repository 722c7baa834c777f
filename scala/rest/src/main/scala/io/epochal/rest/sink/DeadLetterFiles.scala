package io.epochal.rest.sink

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.Using

import com.fasterxml.jackson.core.io.JsonStringEncoder
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.epochal.core.error.Conditions

/** Refused rows as JSON lines: a file for each epoch that has any, `<query id>-<epoch>.jsonl`.
  *
  * The driver writes it before Spark marks the epoch done, and a replay writes it anew (or removes it): so a row is there
  * once. It is written under a name that Spark does not read, and renamed; a crash between the removal of an old file and
  * the renaming is followed by a replay.
  */
final private[rest] class DeadLetterFiles(path: String, hadoop: => Configuration) {

  private lazy val directory = new Path(path)
  private lazy val fs: FileSystem = directory.getFileSystem(hadoop)

  /** Makes the directory.
    *
    * @throws EpochalException
    *   DEAD_LETTERS_UNWRITABLE
    */
  def check(): Unit = guarded {
    if (!fs.mkdirs(directory)) throw new IOException("the directory cannot be made")
  }

  /** Makes the file of an epoch hold these rows and no others. */
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

  /** The row's own JSON stands in it as it is. */
  def line(sink: String, epoch: String, row: RefusedRow): String = {
    val key = if (row.key.isEmpty) "null" else quoted(row.key)
    s"""{"sink":${quoted(sink)},"epoch":${quoted(epoch)},"partition":${row.partition},"row":${row.row},"key":$key,""" +
      s""""reason":${quoted(row.reason)},"value":${row.json}}\n"""
  }

  private def quoted(text: String): String =
    s""""${new String(JsonStringEncoder.getInstance.quoteAsString(text))}""""
}
