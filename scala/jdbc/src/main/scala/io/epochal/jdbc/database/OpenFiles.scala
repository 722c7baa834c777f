package io.epochal.jdbc.database

import java.io.IOException
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{Files, Path}
import java.sql.Connection
import java.util.{Collections, WeakHashMap}

import scala.annotation.tailrec
import scala.collection.mutable

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.ConnectionSettings

/** The files that one connection has open ([[Dialect.files]]), if the database is a file.
  *
  * A connection keeps using a file that was deleted or replaced, so its writes would be lost. `check` detects this: it
  * compares the file at each path with the open one by file key (on Unix, device and inode), which no other file has
  * while this one is open. Windows has no file keys, and does not delete open files: nothing is checked there.
  *
  * Not detected: a file that is overwritten in place.
  */
final private class OpenFiles(settings: ConnectionSettings, files: Seq[Path]) {
  // Of a new connection only the database itself: SQLite opens the files beside it with the first transaction, and until
  // then the last reader of another process deletes them.
  private val open = mutable.Map.from(files.headOption.flatMap(path => OpenFiles.key(path).map(path -> _)))

  /** Fails if a file is not the one seen before. A file that does not exist yet is recorded by the first check that
    * finds it.
    *
    * @throws EpochalException
    *   DATABASE_FILE_REPLACED
    */
  def check(): Unit = synchronized {
    files.foreach { path =>
      val now = OpenFiles.key(path)
      now.foreach(open.getOrElseUpdate(path, _))
      if (open.get(path) != now) throw OpenFiles.changeError(settings, path, files.head)
    }
  }
}

private[jdbc] object OpenFiles {
  private val ofConnections = Collections.synchronizedMap(new WeakHashMap[Connection, OpenFiles])
  private val Attempts = 3

  /** Opens a connection and records its files. If another database file is at the path afterwards, it is not known
    * which one the connection has open: the connection is closed and opened again, at most `attempts` times in all.
    */
  @tailrec def connect(settings: ConnectionSettings, files: () => Seq[Path], attempts: Int = Attempts)(
      open: => Connection): Connection = {
    val before = files().headOption.flatMap(key)
    val connection = open
    val now = files()
    if (now.headOption.flatMap(key) != before && attempts > 1) {
      connection.close()
      connect(settings, files, attempts - 1)(open)
    } else {
      if (now.nonEmpty) ofConnections.put(connection, new OpenFiles(settings, now)): Unit
      connection
    }
  }

  /** Checks the files of a connection.
    *
    * @param connection
    *   lent by the pool, in a transaction or after its commit
    * @throws EpochalException
    *   DATABASE_FILE_REPLACED
    */
  def check(connection: Connection): Unit =
    if (!ofConnections.isEmpty) Option(ofConnections.get(connection.unwrap(classOf[Connection]))).foreach(_.check())

  /** The file key of the file at a path; None if there is no file, or on Windows. */
  def key(path: Path): Option[AnyRef] =
    try Option(Files.readAttributes(path, classOf[BasicFileAttributes]).fileKey)
    catch { case _: IOException => None }

  /** The error for a file that was deleted or replaced.
    *
    * @param database
    *   the path of the database file itself, which has other advice than the files beside it
    */
  def changeError(settings: ConnectionSettings, path: Path, database: Path): EpochalException =
    Conditions.DatabaseFileReplaced(
      "url" -> settings.place,
      "file" -> path,
      "change" -> (if (Files.exists(path)) "replaced by another file" else "deleted or moved away"),
      "advice" -> (if (path == database) Another else Again))

  private val Another =
    "To start over, start the query with a new checkpoint (a batch: write it again). If the file was moved by mistake, put it back, with its -wal file, and start the query again."
  private val Again =
    "Start the query again: the ledger shows which epochs are in the database. Delete or move files of a database only while nothing writes to it."
}
