package io.epochal.jdbc.json

import scala.util.control.NoStackTrace

import io.epochal.jdbc.row.{NulCharacter, TakenText, Texts}
import io.epochal.kit.spark.memory.Memory

/** Validates JSON texts and normalizes them for storage. One instance per task; reads in place.
  *
  * The grammar is RFC 8259. In addition it refuses what PostgreSQL's jsonb refuses, so that the server never has to:
  * escaped NUL characters (handled by `nulCharacter`; in a name always an error, since two names could become equal), lone
  * surrogates, numbers beyond numeric's range, texts beyond 256 MB. It also refuses more than 1,000 levels: the server's own
  * limit depends on its stack size.
  */
final private[jdbc] class StoredJson(nul: NulCharacter) extends TakenText {
  import StoredJson._

  private var position = 0
  private var nuls = 0

  /** Why the text cannot be stored; null if it can. */
  def take(base: AnyRef, address: Long, length: Int): String = {
    point(base, address, length)
    position = 0
    nuls = 0
    if (length > MaxBytes) s"as JSON it is longer than $MaxBytes bytes"
    else if (!Texts.isPlain(base, address, length) && Texts.encoding(base, address, length) != null)
      Texts.encoding(base, address, length)
    else
      try {
        space()
        value(1)
        space()
        if (position < count) fail("something follows its end")
        if (nuls > 0) change()
        null
      } catch { case bad: Bad => bad.reason }
  }

  private def value(depth: Int): Unit = peek() match {
    case '{'                                     => nested(depth, '}', isObject = true)
    case '['                                     => nested(depth, ']', isObject = false)
    case '"'                                     => string(isName = false)
    case 't'                                     => literal("true")
    case 'f'                                     => literal("false")
    case 'n'                                     => literal("null")
    case c if c == '-' || (c >= '0' && c <= '9') => number()
    case End                                     => fail("it ends too early")
    case _                                       => fail("a value was expected")
  }

  private def nested(depth: Int, close: Int, isObject: Boolean): Unit = {
    if (depth > MaxDepth) throw new Bad(s"as JSON it is nested deeper than $MaxDepth levels")
    position += 1
    space()
    if (peek() == close) position += 1
    else {
      var more = true
      while (more) {
        if (isObject) {
          if (peek() != '"') fail("a name in quotes was expected")
          string(isName = true)
          space()
          if (peek() != ':') fail("a colon was expected")
          position += 1
          space()
        }
        value(depth + 1)
        space()
        val next = peek()
        if (next != ',' && next != close) fail("a comma or the closing bracket was expected")
        position += 1
        more = next == ','
        if (more) space()
      }
    }
  }

  private def string(isName: Boolean): Unit = {
    position += 1
    var open = true
    while (open) {
      val c = peek()
      if (c == End) fail("a string has no end")
      else if (c == '"') open = false
      else if (c == '\\') escape(isName)
      else if (c < 0x20) fail("a control character stands unescaped in a string")
      position += 1
    }
  }

  /** Ends with the position on the escape's last character. */
  private def escape(isName: Boolean): Unit = {
    position += 1
    peek() match {
      case '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => ()
      case 'u' =>
        val unit = fourDigits()
        if (unit == 0) {
          if (isName || nul == NulCharacter.Error)
            throw new Bad(
              if (isName) "it has the NUL character (\\u0000) in a name of its JSON"
              else "it has the NUL character (\\u0000) in its JSON; set nulCharacter to strip or replace it")
          nuls += 1
        } else if (unit >= 0xdc00 && unit <= 0xdfff) fail("half a surrogate pair stands alone")
        else if (unit >= 0xd800 && unit <= 0xdbff) {
          position += 1
          if (peek() != '\\') fail("half a surrogate pair stands alone")
          position += 1
          if (peek() != 'u') fail("half a surrogate pair stands alone")
          val second = fourDigits()
          if (second < 0xdc00 || second > 0xdfff) fail("half a surrogate pair stands alone")
        }
      case _ => fail("a backslash is followed by what is no escape")
    }
  }

  private def fourDigits(): Int = {
    var unit = 0
    var i = 0
    while (i < 4) {
      position += 1
      val digit = Character.digit(peek(), 16)
      if (digit < 0) fail("\\u is not followed by four digits")
      unit = unit * 16 + digit
      i += 1
    }
    unit
  }

  private def literal(word: String): Unit = {
    var i = 0
    while (i < word.length) {
      if (peek() != word.charAt(i)) fail("a value was expected")
      position += 1
      i += 1
    }
  }

  private def number(): Unit = {
    if (peek() == '-') position += 1
    val leadingZero = peek() == '0'
    val whole = digits()
    if (leadingZero && whole > 1) fail("a number begins with a needless 0")
    var fraction = 0
    var zero = leadingZero
    if (peek() == '.') {
      position += 1
      val from = position
      fraction = digits()
      zero &&= onlyZeros(from)
    }
    var exponent = 0L
    if (peek() == 'e' || peek() == 'E') {
      position += 1
      val negative = peek() == '-'
      if (negative || peek() == '+') position += 1
      val from = position
      val length = digits()
      exponent = if (length > 9) Int.MaxValue.toLong else exponentAt(from)
      if (negative) exponent = -exponent
    }
    val tooLarge = whole + exponent > MaxWhole && !(zero && exponent < Int.MaxValue)
    if (tooLarge || fraction - exponent > MaxFraction)
      throw new Bad("its JSON has a number beyond the range of numeric")
  }

  /** Skips at least one digit and returns how many it skipped. */
  private def digits(): Int = {
    val from = position
    while (peek() >= '0' && peek() <= '9') position += 1
    if (position == from) fail("a digit was expected")
    position - from
  }

  private def onlyZeros(from: Int): Boolean = {
    var i = from
    while (i < position && Memory.getByte(at, start + i) == '0') i += 1
    i == position
  }

  private def exponentAt(from: Int): Long = {
    var value = 0L
    var i = from
    while (i < position) {
      value = value * 10 + (Memory.getByte(at, start + i) - '0')
      i += 1
    }
    value
  }

  private def space(): Unit = while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') position += 1

  private def peek(): Int = if (position < count) Memory.getByte(at, start + position) & 0xff else End

  private def fail(what: String): Nothing = throw new Bad(s"it is not JSON: $what, at byte ${position + 1}")

  /** The text is valid JSON: a backslash occurs in strings only, followed by another character. */
  private def change(): Unit = {
    changed.clear()
    var i = 0
    while (i < count) {
      val byte = Memory.getByte(at, start + i)
      if (byte != '\\') changed.put(byte)
      else if (isNul(i)) {
        changed.put(nul.replacement)
        i += 5
      } else {
        changed.put(byte)
        i += 1
        changed.put(Memory.getByte(at, start + i))
      }
      i += 1
    }
    pointToChanged()
  }

  private def isNul(i: Int): Boolean =
    Memory.getByte(at, start + i + 1) == 'u' && (2 to 5).forall(n => Memory.getByte(at, start + i + n) == '0')
}

private object StoredJson {
  final private class Bad(val reason: String) extends RuntimeException(reason) with NoStackTrace

  final private val End = -1
  private val MaxBytes = 0x0fffffff
  private val MaxDepth = 1000

  /** Maximum digits of a numeric before and after the decimal point. */
  private val MaxWhole = 131072
  private val MaxFraction = 16383
}
