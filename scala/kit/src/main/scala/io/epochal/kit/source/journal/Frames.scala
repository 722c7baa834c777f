package io.epochal.kit.source.journal

import io.epochal.core.journal.Slice

/** The frames that a task reads, in order. */
trait Frames extends AutoCloseable {

  /** Reads the next frame; None if there is none now.
    *
    * @param into
    *   returns an array with room for the given number of bytes
    * @return
    *   which of its rows to deliver
    */
  def next(into: Int => Array[Byte]): Option[Slice]
}
