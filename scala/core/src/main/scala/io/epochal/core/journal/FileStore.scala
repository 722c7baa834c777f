package io.epochal.core.journal

import scala.util.Using

/** Write-once files in one directory: all that the journal requires of a file system. No rename, no append, no lock.
  *
  * All methods throw java.io.IOException if the store fails.
  */
trait FileStore {

  /** Creates a file; an existing one is an error. The file may be visible to others immediately, or only once it is closed. */
  def create(name: String): FileOutput

  /** Opens a file for reading.
    *
    * @throws java.nio.file.NoSuchFileException
    *   if it does not exist
    */
  def open(name: String): FileInput

  /** The content of a small file.
    *
    * @throws java.nio.file.NoSuchFileException
    *   if it does not exist
    */
  final def content(name: String): Array[Byte] = Using.resource(open(name)) { file =>
    val bytes = new Array[Byte](Math.toIntExact(file.length))
    file.read(0, bytes, 0, bytes.length)
    bytes
  }

  /** Whether a file exists. */
  def exists(name: String): Boolean

  /** The names of all files; empty if the directory does not exist. Throws if the directory cannot be read. */
  def names(): Seq[String]

  /** Removes a file, if it exists. */
  def delete(name: String): Unit

  /** Whether `FileOutput.sync` makes the bytes written so far readable and durable while the file stays open. If not, only
    * `close` does.
    */
  def syncsOpenFiles: Boolean = false
}

/** A file open for writing, by one thread. */
trait FileOutput extends AutoCloseable {
  def write(bytes: Array[Byte], from: Int, length: Int): Unit

  /** Makes the bytes written so far as durable as the store can. A store that does so at `close` has nothing to do here. */
  def sync(): Unit

  /** Ends the file, which is complete if and only if this returns. Later calls do nothing. */
  override def close(): Unit
}

/** A file open for reading, by one thread. */
trait FileInput extends AutoCloseable {

  /** In bytes. */
  def length: Long

  /** Reads exactly `length` bytes.
    *
    * @throws java.io.EOFException
    *   if the file ends before
    */
  def read(position: Long, into: Array[Byte], from: Int, length: Int): Unit
}
