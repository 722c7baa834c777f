package io.epochal.jdbc.row

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.types.{CharType, DataType, StringType, VarcharType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.spark.memory.Memory

/** Checks whether a text can be stored unchanged: databases reject or misread the NUL character and broken UTF-8. */
private[jdbc] object Texts {

  /** Whether values of the type are texts. */
  def is(dataType: DataType): Boolean = dataType match {
    case _: StringType | _: CharType | _: VarcharType => true
    case _                                            => false
  }

  def nulAt(index: Int): String =
    s"it has the NUL character (\\u0000) as byte ${index + 1}, which the database cannot keep in a text; set {option:nulCharacter} to strip or replace it"

  /** Whether all bytes are in 1 to 127. Checks eight bytes at a time. */
  def isPlain(base: AnyRef, address: Long, length: Int): Boolean = {
    var i = 0
    var high = 0L
    while (i <= length - 8) {
      val word = Memory.getLong(base, address + i)
      // Subtracting borrows into the highest bit of a 0 byte; a byte above 127 has it set already.
      high |= (word - 0x0101010101010101L) | word
      i += 8
    }
    while (i < length) {
      val byte = Memory.getByte(base, address + i)
      high |= (byte - 1L) | byte
      i += 1
    }
    (high & 0x8080808080808080L) == 0
  }

  /** Why a text is not UTF-8; null if it is. */
  def encoding(base: AnyRef, address: Long, length: Int): String =
    if (UTF8String.fromAddress(base, address, length).isValid) null else "it is not valid UTF-8"

  /** Offset of the first invalid byte; -1 if there is none. */
  def indexOfNul(base: AnyRef, address: Long, length: Int): Int = {
    var i = 0
    while (i < length && Memory.getByte(base, address + i) != 0) i += 1
    if (i < length) i else -1
  }
}

/** Holds a reference to the bytes of the current text. One instance per task. */
abstract private[jdbc] class TakenText {
  final var base: AnyRef = _
  final var address = 0L
  final var length = 0

  final protected def point(base: AnyRef, address: Long, length: Int): Unit = {
    this.base = base
    this.address = address
    this.length = length
  }

  final protected def pointTo(text: String): Unit = {
    val bytes = text.getBytes(UTF_8)
    point(bytes, Memory.ARRAY_START, bytes.length)
  }
}

/** Converts texts to the form to be stored. Copies only those with a NUL character.
  *
  * @param characters
  *   those that can be stored; null: all
  */
final private[jdbc] class StoredText(nul: NulCharacter, characters: CharacterSet = null) extends TakenText {

  /** Why the text cannot be stored; null if it can. */
  def take(base: AnyRef, address: Long, length: Int): String = {
    point(base, address, length)
    if (Texts.isPlain(base, address, length) && (characters == null || characters.hasAscii)) null else inspect()
  }

  private def inspect(): String = {
    val first = Texts.indexOfNul(base, address, length)
    if (first >= 0 && nul == NulCharacter.Error) Texts.nulAt(first)
    else {
      val problem = Texts.encoding(base, address, length)
      if (problem == null && first >= 0) pointTo(nul(UTF8String.fromAddress(base, address, length).toString))
      if (problem == null && characters != null) characters.problem(this.base, this.address, this.length) else problem
    }
  }
}

/** How to handle the character U+0000 in a text, which databases cannot store. */
sealed abstract class NulCharacter(val name: String, replacement: String) extends Serializable {

  /** The text to store. */
  def apply(text: String): String = text.replace("\u0000", replacement)
}

object NulCharacter {

  /** The value is a bad row. */
  case object Error extends NulCharacter("error", "\u0000")

  /** The character is removed. */
  case object Strip extends NulCharacter("strip", "")

  /** U+FFFD replaces the character. */
  case object Replace extends NulCharacter("replace", "\ufffd")

  val all: Seq[NulCharacter] = Seq(Error, Strip, Replace)
}
