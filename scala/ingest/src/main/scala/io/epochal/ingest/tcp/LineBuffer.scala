package io.epochal.ingest.tcp

import java.util.Arrays

import scala.collection.mutable.ArrayBuilder

import io.epochal.ingest.intake.Arrival

/** Splits the input of one connection into lines, which end in `\n` or `\r\n`. Not thread-safe.
  *
  * @param maxLine
  *   maximum bytes of a line, without its line end
  * @param blanks
  *   whether an empty line is a record; if not, it still counts as a line
  */
final private[tcp] class LineBuffer(maxLine: Int, blanks: Boolean) {
  final private val FirstSize = 16 << 10

  private var bytes = new Array[Byte](FirstSize)
  private var size = 0
  private val ends = new ArrayBuilder.ofInt
  private var lineCount = 0
  private var lineStart = 0
  private var overflow = false

  /** Bytes of all lines, the incomplete one included. */
  def length: Int = size

  /** Number of complete lines in the buffer. */
  def lines: Int = lineCount

  /** Whether a line was too long. Then no more bytes are added; the lines before it can still be taken. */
  def tooLong: Boolean = overflow

  /** Whether the last line is incomplete. */
  def isOpen: Boolean = size > lineStart

  /** Adds received bytes. */
  def add(block: Array[Byte], from: Int, until: Int): Unit = {
    var at = from
    while (at < until && !overflow) {
      var end = at
      while (end < until && block(end) != '\n') end += 1
      append(block, at, end)
      if (end < until && !overflow) endLine()
      at = end + 1
    }
  }

  /** End of input: completes a last line that has no line end. */
  def finish(): Unit = if (isOpen && !overflow) endLine()

  /** Removes and returns all complete lines; an incomplete one stays. */
  def drain(): Lines = {
    val (rest, all) = (Arrays.copyOfRange(bytes, lineStart, size), bytes)
    val lines = Lines(all, ends.result(), lineCount)
    bytes = if (rest.length < FirstSize) Arrays.copyOf(rest, FirstSize) else Arrays.copyOf(rest, rest.length * 2)
    size = rest.length
    ends.clear()
    lineCount = 0
    lineStart = 0
    lines
  }

  private def append(block: Array[Byte], from: Int, until: Int): Unit = {
    val length = until - from
    // A trailing carriage return does not count.
    if (size - lineStart + length > maxLine + 1) overflow = true
    else {
      if (size + length > bytes.length) bytes = Arrays.copyOf(bytes, math.max(size + length, bytes.length * 2))
      System.arraycopy(block, from, bytes, size, length)
      size += length
    }
  }

  private def endLine(): Unit = {
    if (size > lineStart && bytes(size - 1) == '\r') size -= 1
    if (size - lineStart > maxLine) overflow = true
    else {
      lineCount += 1
      if (blanks || size > lineStart) ends += size
      lineStart = size
    }
  }
}

/** Complete lines.
  *
  * @param bytes
  *   the lines from index 0, without line ends
  * @param ends
  *   record i ends before `ends(i)`
  * @param count
  *   number of lines, including those that are not records
  */
final private[tcp] case class Lines(bytes: Array[Byte], ends: Array[Int], count: Int) {

  /** The records as an arrival that is received now. */
  def arrival(remote: String): Arrival =
    Arrival("", remote, System.currentTimeMillis() * 1000L, null, bytes, ends, None)
}
