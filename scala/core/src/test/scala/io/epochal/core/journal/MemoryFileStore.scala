package io.epochal.core.journal

import java.io.{EOFException, IOException}
import java.nio.file.{FileAlreadyExistsException, NoSuchFileException}

import scala.collection.mutable

/** A directory in memory, with damaged files and limited space. A file that was not closed may exist in part.
  *
  * @param syncsOpenFiles
  *   as on a local disk
  * @param isConditional
  *   whether it creates files conditionally; a failed sync is then a stored file whose response was lost
  */
final class MemoryFileStore(override val syncsOpenFiles: Boolean = false, isConditional: Boolean = false)
    extends FileStore {
  val files: mutable.Map[String, Array[Byte]] = mutable.TreeMap.empty

  /** The number of bytes that can still be written. */
  var room: Long = Long.MaxValue

  /** Whether `sync` fails. */
  var syncFails = false

  /** Whether `close` fails. */
  var closeFails = false

  /** Whether `delete` fails. */
  var deleteFails = false

  /** Called before each step: `create`, `write`, `sync`, `names`, and `close` of a conditional file. */
  var before: String => Unit = _ => ()

  override def create(name: String): FileOutput = {
    before("create")
    if (files.contains(name)) throw new FileAlreadyExistsException(name)
    files(name) = Array.emptyByteArray
    new FileOutput {
      override def write(bytes: Array[Byte], from: Int, length: Int): Unit = {
        before("write")
        val fits = math.min(room, length.toLong).toInt
        // A file that was deleted meanwhile accepts writes, but cannot be found.
        files.updateWith(name)(_.map(_ ++ bytes.slice(from, from + fits))): Unit
        room -= fits
        if (fits < length) throw new IOException("No space left on device")
      }
      override def sync(): Unit = {
        before("sync")
        if (syncFails) throw new IOException("Input/output error")
      }
      override def close(): Unit = if (closeFails) throw new IOException("Input/output error")
    }
  }

  override def createConditionally(name: String): Option[FileOutput] = Option.when(isConditional) {
    before("create")
    new FileOutput {
      private var content = Array.emptyByteArray
      private var isClosed = false
      override def write(bytes: Array[Byte], from: Int, length: Int): Unit = {
        before("write")
        if (room < length) throw new IOException("No space left on device")
        room -= length
        content ++= bytes.slice(from, from + length)
      }
      override def sync(): Unit = ()
      override def abandon(): Unit = isClosed = true
      override def close(): Unit = if (!isClosed) {
        isClosed = true
        before("close")
        if (files.contains(name)) throw new FileAlreadyExistsException(name)
        if (closeFails) throw new IOException("Input/output error")
        files(name) = content
        if (syncFails) throw new IOException("Connection reset")
      }
    }
  }

  override def open(name: String): FileInput = {
    val content = files.getOrElse(name, throw new NoSuchFileException(name))
    new FileInput {
      override def length: Long = content.length.toLong
      override def read(position: Long, into: Array[Byte], from: Int, length: Int): Unit =
        if (position + length > content.length) throw new EOFException(s"${content.length} bytes")
        else System.arraycopy(content, position.toInt, into, from, length)
      override def close(): Unit = ()
    }
  }

  override def exists(name: String): Boolean = files.contains(name)

  override def names(): Seq[String] = {
    before("names")
    files.keys.toSeq
  }

  override def delete(name: String): Unit = {
    if (deleteFails) throw new IOException("Input/output error")
    val _ = files.remove(name)
  }
}
