package io.epochal.kit.record

import com.fasterxml.jackson.core.JsonParser

abstract private[epochal] class ArrayRecords extends Records {

  /** The byte after the opening bracket. */
  def begin: Int

  /** The first byte of the record. */
  def start: Int

  /** The byte of the closing bracket, once `next()` has returned false. */
  def end: Int

  /** Reads the JSON around the array, with the array empty, once `next()` has returned false. */
  def around[A](read: JsonParser => A): A
}
