package io.epochal.core.journal

/** A file open for writing, by one thread. */
trait FileOutput extends AutoCloseable {
  def write(bytes: Array[Byte], from: Int, length: Int): Unit

  /** Makes the bytes written so far as durable as the store can. A store that does so at `close` has nothing to do here. */
  def sync(): Unit

  /** Closes a file that is no longer needed: its content need not become visible. */
  def abandon(): Unit = close()

  /** Ends the file, which is complete if and only if this returns. Later calls do nothing. */
  override def close(): Unit
}
