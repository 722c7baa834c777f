package io.epochal.core.journal

/** Rows of a segment that are read together or not at all, in order of receipt.
  *
  * @param position
  *   of its payload in the file
  * @param length
  *   bytes of the payload
  * @param first
  *   the number of the first row
  * @param crc
  *   of the number of rows and the payload
  */
final case class Frame(position: Long, length: Int, first: Long, rows: Int, crc: Int) {
  def until: Long = first + rows
}
