package io.epochal.jdbc.sqlite

import java.util.Locale

/** A column's affinity: how SQLite converts the values stored in it ("Datatypes In SQLite", 3.1). */
object Affinity extends Enumeration {
  val Integer, Text, Blob, Real, Numeric = Value

  /** @param strict
    *   the table is STRICT: only then ANY is a type that keeps values unchanged
    */
  def of(declared: String, strict: Boolean = false): Value = {
    val name = declared.toUpperCase(Locale.ROOT)
    def has(words: String*): Boolean = words.exists(name.contains)
    if (has("INT")) Integer
    else if (has("CHAR", "CLOB", "TEXT")) Text
    else if (name.isEmpty || has("BLOB") || strict && name == "ANY") Blob
    else if (has("REAL", "FLOA", "DOUB")) Real
    else Numeric
  }
}
