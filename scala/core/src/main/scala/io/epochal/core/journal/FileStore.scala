package io.epochal.core.journal

/** Files in one directory, each written once. What the journal needs of a file system, and no more: no rename, no append,
  * no lock.
  *
  * All methods throw java.io.IOException where the store fails.
  */
trait FileStore {

  /** A new file. One that exists already is an error. It may be seen by others from now on, or only once it is closed. */
  def create(name: String): FileOutput

  /** @throws java.nio.file.NoSuchFileException
    *   where there is none
    */
  def open(name: String): FileInput

  /** Whether a file is there. */
  def exists(name: String): Boolean

  /** The names of all files; none where there is no such directory. One that cannot be read is a failure. */
  def names(): Seq[String]

  /** Removes a file, if it is there. */
  def delete(name: String): Unit

  /** Whether `FileOutput.sync` makes what was written readable and durable while the file is still open, so that more can follow.
    * Where it does not, only `close` does.
    */
  def syncsOpenFiles: Boolean = false
}

/** A file that is being written, by one thread. */
trait FileOutput extends AutoCloseable {
  def write(bytes: Array[Byte], from: Int, length: Int): Unit

  /** Makes what was written survive what the store can survive. A store that does so at `close` has nothing to do here. */
  def sync(): Unit

  /** Ends the file: it is whole if and only if this returns. Does nothing when called again. */
  override def close(): Unit
}

/** A file that is being read, by one thread. */
trait FileInput extends AutoCloseable {

  /** In bytes. */
  def length: Long

  /** Reads exactly so many bytes.
    *
    * @throws java.io.EOFException
    *   where the file ends before
    */
  def read(position: Long, into: Array[Byte], from: Int, length: Int): Unit
}
