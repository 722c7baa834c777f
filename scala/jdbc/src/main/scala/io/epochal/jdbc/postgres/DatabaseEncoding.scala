package io.epochal.jdbc.postgres

import java.sql.Connection
import java.util.BitSet

import io.epochal.jdbc.row.CharacterSet
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** The encoding of a database. The driver always sends UTF-8, which the server converts for every text, also in a binary COPY. */
private[postgres] object DatabaseEncoding {

  /** The characters of the encoding; None if it has all, or the server does not report them. */
  def characters(connection: Connection, encoding: String): Option[CharacterSet] = encoding match {
    // EUC_JIS_2004 has characters that are two in Unicode, and its others do not tell which.
    case "UTF8" | "EUC_JIS_2004" => None
    case "SQL_ASCII"             => Some(CharacterSet(place(encoding), ascii, verbatim = true))
    case _ => CharacterSet.of(connection, encoding)(ask(connection, encoding)).map(CharacterSet(place(encoding), _))
  }

  private def place(encoding: String): String = s"the database's encoding $encoding, as all are in UTF8"

  private def ascii: BitSet = {
    val all = new BitSet
    all.set(1, 128)
    all
  }

  /** Lets the server convert each character of the Basic Multilingual Plane, which these encodings do not exceed, there and back,
    * in about a second; it raises an error for one that is lacking. Guarded: the language may be missing, and an error would abort
    * the transaction.
    */
  private def ask(connection: Connection, encoding: String): BitSet = {
    val characters = ascii
    PostgresDialect
      .guarded(connection) {
        Sql.run(
          connection,
          text"""DO $$do$$
          |DECLARE
          |  here bytea;
          |  known int[] := '{}';
          |BEGIN
          |  FOR code IN 128 .. ${0xffff} LOOP
          |    CONTINUE WHEN code BETWEEN ${0xd800} AND ${0xdfff};
          |    BEGIN
          |      here := decode(to_hex(CASE
          |        WHEN code < ${0x800} THEN ${0xc080} + ((code >> 6) << 8)
          |        ELSE ${0xe08080} + ((code >> 12) << 16) + ((code >> 6 & 63) << 8) END + (code & 63)), 'hex');
          |      IF convert(convert(here, 'UTF8', '$encoding'), '$encoding', 'UTF8') = here THEN known := known || code; END IF;
          |    EXCEPTION WHEN OTHERS THEN NULL;
          |    END;
          |  END LOOP;
          |  PERFORM set_config('epochal.characters', array_to_string(known, ','), true);
          |END $$do$$"""
        )
        val codes = Sql.query(connection, "SELECT current_setting('epochal.characters')")(_.getString(1)).head
        codes.split(',').filter(_.nonEmpty).foreach(code => characters.set(code.toInt))
      }
      .get
    characters
  }
}
