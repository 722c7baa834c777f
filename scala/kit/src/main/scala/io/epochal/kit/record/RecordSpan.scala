package io.epochal.kit.record

/** The position of consecutive records in a body.
  *
  * @param records
  *   their number
  * @param from
  *   the first byte of the first record, or of white space before it
  * @param until
  *   the byte after the last record, or after white space behind it
  */
final private[epochal] case class RecordSpan(records: Int, from: Int, until: Int)
