package io.epochal.jdbc.insert

import io.epochal.jdbc.row.{CharacterSet, NulCharacter, StoredText}
import io.epochal.kit.spark.memory.BinaryRow

/** Checks non-NULL values. Allocates nothing for a good value. */
trait ValueCheck {

  /** Why the value cannot be stored; null if it can. */
  def problem(row: BinaryRow, ordinal: Int): String
}

object ValueCheck {

  /** Finds broken UTF-8, and NUL characters if they are errors. One instance per task. */
  def text(nul: NulCharacter): ValueCheck = text(nul, None)

  /** Finds characters that the column lacks, too. */
  private[jdbc] def text(nul: NulCharacter, characters: Option[CharacterSet]): ValueCheck = {
    val text = new StoredText(nul, characters.orNull)
    (row, ordinal) => text.take(row.base, row.address(ordinal), row.length(ordinal))
  }

  val float: ValueCheck = (row, ordinal) => if (java.lang.Float.isFinite(row.getFloat(ordinal))) null else NotFinite
  val double: ValueCheck = (row, ordinal) => if (java.lang.Double.isFinite(row.getDouble(ordinal))) null else NotFinite
  private val NotFinite = "the database has no NaN and no infinity"

  val date: ValueCheck = (row, ordinal) => outside(row.getInt(ordinal).toLong, IsoTime.FirstDay, IsoTime.LastDay)

  /** @param unit
    *   the column's resolution in microseconds
    */
  def timestamp(unit: Long): ValueCheck = (row, ordinal) => {
    val micros = row.getLong(ordinal)
    if (micros % unit != 0) s"the column keeps no fraction of a second finer than $unit microseconds"
    else outside(micros, IsoTime.FirstMicro, IsoTime.LastMicro)
  }

  /** Drivers disagree on dates before the Gregorian calendar, so these are refused. */
  val gregorianDate: ValueCheck = (row, ordinal) => gregorian(row.getInt(ordinal).toLong, IsoTime.FirstGregorianDay)
  val gregorianTimestamp: ValueCheck = (row, ordinal) => gregorian(row.getLong(ordinal), IsoTime.FirstGregorianMicro)

  private def gregorian(value: Long, first: Long): String =
    if (value < first) "it is before 1582-10-15, where drivers differ about the calendar" else null

  /** The first of the two problems. */
  def both(first: ValueCheck, second: ValueCheck): ValueCheck = (row, ordinal) => {
    val problem = first.problem(row, ordinal)
    if (problem != null) problem else second.problem(row, ordinal)
  }

  private def outside(value: Long, first: Long, last: Long): String =
    if (value < first || value > last) "it has a year that is not from 1 to 9999" else null
}
