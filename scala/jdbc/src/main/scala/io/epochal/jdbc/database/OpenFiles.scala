package io.epochal.jdbc.database

import java.io.IOException
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{Files, Path}
import java.sql.Connection
import java.util.{Collections, WeakHashMap}

import scala.annotation.tailrec
import scala.collection.mutable

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.option.ConnectionSettings

/** The files of a database as one connection has them open ([[Dialect.files]]).
  *
  * A file that is deleted, or replaced by another, lives on for those who have it open. So the file that a path names is
  * compared with the one that is open, by its number in the file system, which no other file gets meanwhile. A file that is
  * overwritten in place stays the same one. On Windows files have no such number, and one that is open cannot be deleted.
  */
final private class OpenFiles(settings: ConnectionSettings, files: Seq[Path]) {
  private val open = mutable.Map.empty[Path, AnyRef]

  /** Those that come into being later are known from then on.
    *
    * @throws EpochalException
    *   DATABASE_FILE_REPLACED
    */
  def check(): Unit = synchronized {
    files.foreach { path =>
      val now = OpenFiles.key(path)
      open.get(path) match {
        case None         => now.foreach(open(path) = _)
        case Some(before) => if (!now.contains(before)) throw OpenFiles.changed(settings, path, files.head)
      }
    }
  }
}

private[jdbc] object OpenFiles {
  private val known = Collections.synchronizedMap(new WeakHashMap[Connection, OpenFiles])
  private val Attempts = 3

  /** Opens a connection, and notes which files it has open: those that its paths name both before and after. */
  @tailrec def connect(settings: ConnectionSettings, files: () => Seq[Path], attempts: Int = Attempts)(
      open: => Connection): Connection = {
    val before = files().headOption.flatMap(key)
    val connection = open
    val now = files()
    if (now.headOption.flatMap(key) != before && attempts > 1) {
      connection.close()
      connect(settings, files, attempts - 1)(open)
    } else {
      if (now.nonEmpty) {
        val opened = new OpenFiles(settings, now)
        opened.check()
        known.put(connection, opened): Unit
      }
      connection
    }
  }

  /** @param connection
    *   one that the pool has lent
    * @throws EpochalException
    *   DATABASE_FILE_REPLACED
    */
  def check(connection: Connection): Unit =
    if (!known.isEmpty) Option(known.get(connection.unwrap(classOf[Connection]))).foreach(_.check())

  /** What a file is known by while it is open; None: there is none. */
  def key(path: Path): Option[AnyRef] =
    try Option(Files.readAttributes(path, classOf[BasicFileAttributes]).fileKey)
    catch { case _: IOException => None }

  def changed(settings: ConnectionSettings, path: Path, database: Path): EpochalException =
    Conditions.DatabaseFileReplaced(
      "url" -> settings.place,
      "file" -> path,
      "change" -> (if (Files.exists(path)) "replaced by another file" else "deleted or moved away"),
      "advice" -> (if (path == database) Another else Again))

  private val Another =
    "To begin anew, start the query with a new checkpoint (a batch: write it again). If the file was moved by mistake, put it back, with its -wal file, and start the query again."
  private val Again =
    "Start the query again: the ledger shows which epochs are in the database. Delete or move files of a database only while nothing writes to it."
}
