package io.epochal.kit.json

import java.nio.ByteOrder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import io.epochal.kit.spark.memory.Memory

/** Scans JSON in UTF-8 without building values, up to eight bytes at a time.
  *
  * It accepts plain JSON only. Text that is not plain is "in doubt": it may be invalid (a missing comma, bytes that are not
  * UTF-8) or rare (a NUL character, a lone surrogate, deep nesting, a huge exponent), and Jackson must then parse it and decide. Any text accepted here is valid
  * JSON, and means the same to Jackson.
  *
  * Each step begins at `at` and moves it past the accepted text; in doubt, `at` is undefined.
  *
  * @param bytes
  *   are not read from `until` on
  */
final private[epochal] class JsonScan(val bytes: Array[Byte], begin: Int, val until: Int) {
  import JsonScan._

  private var position = begin
  private var escapes = false

  def at: Int = position

  def at_=(to: Int): Unit = position = to

  /** The current byte; -1 at the end. */
  def here: Int = byteAt(position)

  /** Skips white space.
    *
    * @return
    *   the byte after it; -1 at the end
    */
  def next(): Int = {
    var i = position
    while (i < until && isSpace(bytes(i))) i += 1
    position = i
    if (i < until) bytes(i).toInt else -1
  }

  /** Skips the current byte, and white space.
    *
    * @return
    *   the byte after it; -1 at the end
    */
  def pass(): Int = {
    position += 1
    next()
  }

  /** Skips these bytes, if they come next. */
  def take(token: Array[Byte]): Boolean = {
    val end = position + token.length
    val found = end <= until && Arrays.equals(bytes, position, end, token, 0, token.length)
    if (found) position = end
    found
  }

  /** Skips a string.
    *
    * @return
    *   false: in doubt
    */
  def string(): Boolean = {
    escapes = false
    var i = position + 1
    var closed = false
    var plain = position < until && bytes(position) == '"'
    while (plain && !closed) {
      i = ordinary(i)
      if (i >= until) plain = false
      else
        bytes(i).toInt match {
          case '"' =>
            closed = true
            i += 1
          case '\\' =>
            escapes = true
            i += escape(i)
          case byte => if (byte < 0) i += character(i) else plain = false
        }
      if (i < 0) plain = false
    }
    position = i
    plain
  }

  /** Whether the last skipped string has escapes. */
  def escaped: Boolean = escapes

  /** Skips a number.
    *
    * @return
    *   false: in doubt
    */
  def number(): Boolean = {
    var i = position
    if (byteAt(i) == '-') i += 1
    var plain = true
    if (byteAt(i) == '0') i += 1
    else {
      val from = i
      i = digits(i)
      plain = i > from
    }
    if (plain && byteAt(i) == '.') {
      val from = i + 1
      i = digits(from)
      plain = i > from
    }
    if (plain && (byteAt(i) | 0x20) == 'e') {
      val sign = byteAt(i + 1)
      val from = if (sign == '+' || sign == '-') i + 2 else i + 1
      i = digits(from)
      plain = i > from && i - from <= LongestExponent
    }
    plain &&= i - position <= LongestNumber
    position = i
    plain
  }

  /** Skips a value of any kind.
    *
    * @return
    *   false: in doubt
    */
  def value(): Boolean = {
    var depth = 0
    var objects = 0L // A bit for each enclosing container: whether it is an object.
    var plain = true
    var done = false
    while (plain && !done) {
      var ended = true
      next() match {
        case '"' => plain = string()
        case '{' =>
          if (pass() == '}') position += 1
          else {
            depth += 1
            objects = objects << 1 | 1
            ended = false
            plain = depth <= Deepest && name()
          }
        case '[' =>
          if (pass() == ']') position += 1
          else {
            depth += 1
            objects <<= 1
            ended = false
            plain = depth <= Deepest
          }
        case 't' => plain = take(True)
        case 'f' => plain = take(False)
        case 'n' => plain = take(Null)
        case _   => plain = number()
      }
      while (plain && ended && !done)
        if (depth == 0) done = true
        else {
          val inObject = (objects & 1) == 1
          val byte = next()
          if (byte == ',') {
            ended = false
            if (inObject) plain = pass() == '"' && name()
            else position += 1
          } else if (byte == (if (inObject) '}' else ']')) {
            position += 1
            depth -= 1
            objects >>>= 1
          } else plain = false
        }
    }
    plain
  }

  /** Skips a name and its colon. */
  private def name(): Boolean = {
    val from = position
    string() && position - from <= LongestName && next() == ':' && {
      position += 1
      true
    }
  }

  /** Skips all characters to the end.
    *
    * @return
    *   false: the bytes at `at` are not UTF-8
    */
  def text(): Boolean = {
    var i = position
    var plain = true
    while (plain && i < until) {
      while (i + 8 <= until && (Memory.getLong(bytes, Memory.ARRAY_START + i.toLong) & Highs) == 0) i += 8
      while (i < until && bytes(i) >= 0) i += 1
      val length = if (i < until) character(i) else 0
      if (length < 0) plain = false else i += length
    }
    position = i
    plain
  }

  private def byteAt(i: Int): Int = if (i < until) bytes(i).toInt else -1

  private def digits(from: Int): Int = {
    var i = from
    while (i < until && isDigit(bytes(i).toInt)) i += 1
    i
  }

  /** The first byte from here on that is not an ordinary ASCII character. */
  private def ordinary(from: Int): Int = {
    val all = bytes
    val last = until - 8
    val little = LittleEndian
    var i = from
    var special = 0L
    while (special == 0 && i <= last) {
      val word = Memory.getLong(all, Memory.ARRAY_START + i.toLong)
      special = specialBytes(if (little) word else java.lang.Long.reverseBytes(word))
      if (special == 0) i += 8
    }
    if (special != 0) i + (java.lang.Long.numberOfTrailingZeros(special) >>> 3)
    else {
      while (i < until && isOrdinary(all(i))) i += 1
      i
    }
  }

  /** The length of this escape, or of two if it needs another; in doubt, so small that a sum with it is negative. */
  private def escape(i: Int): Int = byteAt(i + 1) match {
    case '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => 2
    case 'u' =>
      val unit = hex(i + 2)
      if (unit <= 0) Doubt
      else if (unit < 0xd800 || unit > 0xdfff) 6
      else {
        val low = if (unit < 0xdc00 && byteAt(i + 6) == '\\' && byteAt(i + 7) == 'u') hex(i + 8) else -1
        if (low >= 0xdc00 && low <= 0xdfff) 12 else Doubt
      }
    case _ => Doubt
  }

  /** Four hexadecimal digits; -1 if they are something else. */
  def hex(from: Int): Int = {
    var unit = 0
    var i = from
    while (i < from + 4) {
      val digit = if (i < until) Character.digit(bytes(i).toInt, 16) else -1
      unit = if (digit < 0) -1 << 16 else unit << 4 | digit
      i += 1
    }
    math.max(unit, -1)
  }

  /** The number of bytes of this non-ASCII character; in doubt, so small that a sum with it is negative. */
  private def character(i: Int): Int = {
    val lead = bytes(i) & 0xff
    val second = byteAt(i + 1) & 0xff
    def follows(n: Int): Boolean = i + n < until && (bytes(i + n) & 0xc0) == 0x80
    if (lead < 0xc2 || lead > 0xf4 || !follows(1)) Doubt
    else if (lead < 0xe0) 2
    else if (lead < 0xf0)
      if (follows(2) && (lead != 0xe0 || second >= 0xa0) && (lead != 0xed || second < 0xa0)) 3 else Doubt
    else if (follows(2) && follows(3) && (lead != 0xf0 || second >= 0x90) && (lead != 0xf4 || second < 0x90)) 4
    else Doubt
  }
}

private[epochal] object JsonScan {

  val True: Array[Byte] = "true".getBytes(UTF_8)
  val False: Array[Byte] = "false".getBytes(UTF_8)
  val Null: Array[Byte] = "null".getBytes(UTF_8)

  // Compile-time constants, inlined into the loops.

  /** Below Jackson's own limits. */
  final private val Deepest = 64
  final private val LongestNumber = 300
  final private val LongestExponent = 3
  final private val LongestName = 10000

  final private val Doubt = Int.MinValue
  final private val Ones = 0x0101010101010101L
  final private val Highs = 0x8080808080808080L
  final private val Quotes = 0x2222222222222222L
  final private val Backslashes = 0x5c5c5c5c5c5c5c5cL
  final private val Spaces = 0x2020202020202020L

  private val LittleEndian = ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN

  def isDigit(byte: Int): Boolean = byte >= '0' && byte <= '9'

  private def isSpace(byte: Byte): Boolean = byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'

  private def isOrdinary(byte: Byte): Boolean = byte >= ' ' && byte != '"' && byte != '\\'

  /** The high bit of each byte that is a quote, a backslash, below a space or not ASCII. Only the lowest bit is reliable: a
    * borrow from it may mark a byte above it.
    */
  private def specialBytes(word: Long): Long = {
    val quote = word ^ Quotes
    val backslash = word ^ Backslashes
    ((quote - Ones) & ~quote | (backslash - Ones) & ~backslash | (word - Spaces) & ~word | word) & Highs
  }
}
