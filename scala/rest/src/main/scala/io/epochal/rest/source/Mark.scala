package io.epochal.rest.source

/** Identifies a record of a counted list.
  *
  * @param record
  *   its number in the list
  * @param digest
  *   hexadecimal
  * @param of
  *   JSON Pointer within the record to the digested value; empty for the whole record
  */
final case class Mark(record: Long, digest: String, of: String)
