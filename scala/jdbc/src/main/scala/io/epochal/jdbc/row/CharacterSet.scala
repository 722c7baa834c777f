package io.epochal.jdbc.row

import java.nio.charset.StandardCharsets.UTF_8
import java.sql.Connection
import java.util.{BitSet, Locale}

import scala.collection.concurrent.TrieMap
import scala.util.Try

import io.epochal.kit.spark.memory.Memory

/** The characters of a column or a database that has not all of Unicode: the server would refuse the row, after others were
  * sent, or store another character.
  *
  * @param place
  *   for messages: `the column's character set latin1, as all are in utf8mb4`
  * @param characters
  *   their code points
  * @param verbatim
  *   the server stores the bytes of any text, and counts them where others count characters: it cannot decode other escapes
  */
final private[jdbc] case class CharacterSet(place: String, characters: BitSet, verbatim: Boolean = false) {
  import CharacterSet._

  private[row] val hasAscii = characters.nextClearBit(1) > 127

  /** Why a text, which is known to be UTF-8, cannot be stored; null if it can. */
  def problem(base: AnyRef, address: Long, length: Int): String =
    if (verbatim || hasAscii && Texts.isPlain(base, address, length)) null
    else {
      var at = 0
      var count = 0
      var lacking = false
      while (!lacking && at < length) {
        val first = Memory.getByte(base, address + at) & 0xff
        val bytes = if (first < 0x80) 1 else if (first < 0xe0) 2 else if (first < 0xf0) 3 else 4
        lacking = !characters.get(code(base, address + at, first, bytes))
        at += bytes
        count += 1
      }
      if (lacking) s"its character $count is not in $place" else null
    }

  private def code(base: AnyRef, address: Long, first: Int, bytes: Int): Int = {
    var code = if (bytes == 1) first else first & (0xff >> bytes + 1)
    var i = 1
    while (i < bytes) {
      code = code << 6 | Memory.getByte(base, address + i) & 0x3f
      i += 1
    }
    code
  }

  /** Why the server cannot decode the escapes of a JSON text; null if it can. */
  def escapeProblem(base: Array[Byte], address: Long, length: Int): String = {
    val json = new String(base, (address - Memory.ARRAY_START).toInt, length, UTF_8)
    val lacking = Escape.findAllMatchIn(json).find(escape => !characters.get(Integer.parseInt(escape.group(1), 16)))
    if (lacking.isDefined) s"an escape in its JSON is not in $place" else null
  }

  /** The text with an escape as in JSON for each character that is lacking. */
  def escaped(text: String): String =
    if (verbatim) text
    else
      text.codePoints.toArray.map { code =>
        val character = Character.toString(code)
        if (characters.get(code)) character
        else character.map(unit => "\\u%04x".formatLocal(Locale.ROOT, unit.toInt)).mkString
      }.mkString

  override def toString: String = place
}

private[jdbc] object CharacterSet {

  /** A Unicode escape, after any number of escaped backslashes. */
  private val Escape = """(?<!\\)(?:\\\\)*\\u([0-9a-fA-F]{4})""".r

  /** By server and name; each set is queried once in a JVM. */
  private val cache = TrieMap.empty[(String, String), BitSet]

  /** The characters of a set of the server's; None if the server does not report them. */
  def of(connection: Connection, name: String)(ask: => BitSet): Option[BitSet] = {
    val key = (connection.getMetaData.getDatabaseProductVersion, name)
    cache.get(key).orElse(Try(ask).toOption.map(characters => cache.getOrElseUpdate(key, characters)))
  }
}
