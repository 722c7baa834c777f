package io.epochal.jdbc.mysql

import java.nio.charset.StandardCharsets.UTF_8
import java.sql.Connection
import java.util.BitSet

import io.epochal.jdbc.row.CharacterSet
import io.epochal.kit.database.Sql

/** The character sets of columns. Those that have not all of Unicode have only characters of the Basic Multilingual Plane. */
private[mysql] object CharacterSets {
  private val Whole = Set("utf8mb4", "utf16", "utf16le", "utf32", "gb18030", "binary")
  private val Plane = Set("utf8", "utf8mb3", "ucs2")

  /** The set of a collation; None if it has all characters, or the server does not report them. */
  def of(connection: Connection, collation: String): Option[CharacterSet] = {
    val name = collation.takeWhile(_ != '_')
    if (Whole(name)) None
    else
      CharacterSet
        .of(connection, name)(if (Plane(name)) plane else ask(connection, name))
        .map(CharacterSet(s"the column's character set $name, as all are in utf8mb4", _))
  }

  private def plane: BitSet = {
    val all = new BitSet
    all.set(1, 0x10000)
    all
  }

  /** Lets the server convert every character to the set and back: in the place of one that the set lacks comes another. */
  private def ask(connection: Connection, name: String): BitSet = {
    require(name.matches("[a-z0-9]+"))
    val characters = new BitSet
    (1 until 0x10000).filterNot(code => Character.isSurrogate(code.toChar)).grouped(Chunk).foreach { codes =>
      val text = new String(codes.map(_.toChar).toArray)
      val back = Sql
        .query(
          connection,
          s"SELECT CAST(CONVERT(CONVERT(${MysqlCatalog.literal(text)} USING $name) USING utf8mb4) AS BINARY)")(row =>
          new String(row.getBytes(1), UTF_8))
        .head
      require(back.length == text.length)
      codes.indices.foreach(i => if (back.charAt(i) == text.charAt(i)) characters.set(codes(i)))
    }
    characters
  }

  // Within any max_allowed_packet but the smallest.
  private val Chunk = 8192
}
