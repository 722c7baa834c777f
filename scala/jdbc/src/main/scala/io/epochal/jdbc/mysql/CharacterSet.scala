package io.epochal.jdbc.mysql

import java.nio.charset.StandardCharsets.UTF_8
import java.sql.Connection
import java.util.BitSet

import scala.collection.concurrent.TrieMap
import scala.util.Try

import io.epochal.jdbc.insert.ValueCheck
import io.epochal.jdbc.row.{NulCharacter, Texts}
import io.epochal.jdbc.sql.Sql
import io.epochal.kit.spark.memory.Memory

/** The characters of a column's character set that has not all of Unicode: in the place of another one, strict mode refuses the
  * row, after others were sent.
  *
  * @param characters
  *   of the Basic Multilingual Plane; such a set has no others
  */
final private[mysql] case class CharacterSet(name: String, characters: BitSet) {

  private val hasAscii = characters.nextClearBit(1) > 127

  def check(nul: NulCharacter): ValueCheck = {
    val replacement = if (nul == NulCharacter.Replace) '\ufffd'.toInt else 0
    (row, ordinal) => problem(row.base, row.address(ordinal), row.length(ordinal), replacement)
  }

  /** The text is known to be UTF-8. */
  private def problem(base: AnyRef, address: Long, length: Int, replacement: Int): String =
    if (hasAscii && Texts.isPlain(base, address, length)) null
    else {
      var place = 0
      var count = 0
      var lacking = false
      while (!lacking && place < length) {
        val first = Memory.getByte(base, address + place) & 0xff
        val bytes = if (first < 0x80) 1 else if (first < 0xe0) 2 else if (first < 0xf0) 3 else 4
        val code = if (first == 0) replacement else this.code(base, address + place, first, bytes)
        lacking = bytes == 4 || code > 0 && !characters.get(code)
        place += bytes
        count += 1
      }
      if (lacking) s"its character $count is not in the column's character set $name, as all are in utf8mb4" else null
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

  override def toString: String = name
}

private[mysql] object CharacterSet {
  private val Whole = Set("utf8mb4", "utf16", "utf16le", "utf32", "gb18030", "binary")
  private val Plane = Set("utf8", "utf8mb3", "ucs2")

  /** By server and name: asked once in a JVM. */
  private val known = TrieMap.empty[(String, String), Option[CharacterSet]]

  /** The set of a collation; None if it has all characters, or the server does not tell which. */
  def of(connection: Connection, collation: String): Option[CharacterSet] = {
    val name = collation.takeWhile(_ != '_')
    if (Whole(name)) None
    else
      known.getOrElseUpdate(
        (connection.getMetaData.getDatabaseProductVersion, name),
        if (Plane(name)) Some(CharacterSet(name, plane)) else Try(asked(connection, name)).toOption)
  }

  private def plane: BitSet = {
    val all = new BitSet
    all.set(0, 0x10000)
    all
  }

  /** Lets the server convert every character to the set and back: in the place of one that the set lacks comes another. */
  private def asked(connection: Connection, name: String): CharacterSet = {
    require(name.matches("[a-z0-9]+"))
    val found = new BitSet
    (1 until 0x10000).filterNot(code => Character.isSurrogate(code.toChar)).grouped(Chunk).foreach { codes =>
      val text = new String(codes.map(_.toChar).toArray)
      val back = Sql
        .query(
          connection,
          s"SELECT CAST(CONVERT(CONVERT(${MysqlCatalog.literal(text)} USING $name) USING utf8mb4) AS BINARY)")(row =>
          new String(row.getBytes(1), UTF_8))
        .head
      require(back.length == text.length)
      codes.indices.foreach(i => if (back.charAt(i) == text.charAt(i)) found.set(codes(i)))
    }
    CharacterSet(name, found)
  }

  // Within any max_allowed_packet but the smallest.
  private val Chunk = 8192
}
