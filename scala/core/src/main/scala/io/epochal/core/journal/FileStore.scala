package io.epochal.core.journal

import java.nio.file.NoSuchFileException

import scala.annotation.unused
import scala.util.{Try, Using}

/** Write-once files in one directory: all that the journal requires of a file system. No rename, no append, no lock.
  *
  * All methods throw java.io.IOException if the store fails.
  */
trait FileStore {

  /** Creates a file; an existing one is an error. The file may be visible to others immediately, or only once it is closed. */
  def create(name: String): FileOutput

  /** Creates a file with a name that nobody else uses, so that an object store need not check first whether it exists. */
  def createUnique(name: String): FileOutput = create(name)

  /** Creates a file that exists from `close` on, whole, unless one of this name exists then: `close` throws
    * FileAlreadyExistsException. None if the store cannot do so in one step.
    */
  def createConditionally(@unused name: String): Option[FileOutput] = None

  /** Opens a file for reading.
    *
    * @throws java.nio.file.NoSuchFileException
    *   if it does not exist
    */
  def open(name: String): FileInput

  /** Opens a file that has at least so many bytes, and reads no further: an object store need not ask for its length. A file
    * that does not exist may be reported by the first read.
    */
  def open(name: String, @unused length: Long): FileInput = open(name)

  /** The content of a small file.
    *
    * @throws java.nio.file.NoSuchFileException
    *   if it does not exist
    */
  final def content(name: String): Array[Byte] =
    Using.resource(open(name))(file => FileInput.bytes(file, 0, file.length))

  def exists(name: String): Boolean

  /** The names of all files; empty if the directory does not exist. Throws if the directory cannot be read. */
  def names(): Seq[String]

  /** The names of all files with their lengths in bytes. */
  def lengths(): Map[String, Long] = names().flatMap { name =>
    try Some(name -> Using.resource(open(name))(_.length))
    catch { case _: NoSuchFileException => None }
  }.toMap

  /** Removes a file, if it exists. */
  def delete(name: String): Unit

  /** Removes files, with as few requests as possible.
    *
    * @return
    *   those that could not be removed, and why
    */
  def deleteAll(names: Seq[String]): Seq[(String, Throwable)] =
    names.flatMap(name => Try(delete(name)).failed.toOption.map(name -> _))

  /** Whether `FileOutput.sync` makes the bytes written so far readable and durable while the file stays open. If not, only
    * `close` does.
    */
  def syncsOpenFiles: Boolean = false
}
