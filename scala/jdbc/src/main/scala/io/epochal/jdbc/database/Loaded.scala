package io.epochal.jdbc.database

import io.epochal.core.error.{Conditions, Plural}
import io.epochal.kit.database.QualifiedName

/** The result of a load. */
sealed trait Loaded {

  /** Number of rows that the database reports as stored. */
  def stored: Long

  /** How the table differs from rows that replace all of its rows, or are compared with them; None: the rows are changes. */
  def verification: Option[Verification] = None

  /** For the progress metrics: where a database has several ways to load, the way, and the reason for it. */
  def by: Map[String, String] = Map.empty

  /** @param keys
    *   the key columns, as the user named them
    * @throws io.epochal.core.error.EpochalException
    *   DUPLICATE_KEYS; ROWS_DROPPED: the database stored fewer rows than it was sent, or more
    */
  def check(epoch: String, table: QualifiedName, keys: Seq[String] = Nil): Unit
}

object Loaded {

  /** @param expected
    *   number of rows that should be stored: all rows sent, less those of the same key that lost by the order column
    * @param method
    *   for the metrics
    */
  final case class Rows(
      stored: Long,
      expected: Long,
      method: Map[String, String] = Map.empty,
      override val verification: Option[Verification] = None)
      extends Loaded {

    /** The same, with the result of a comparison. */
    def verifying(result: Option[Verification]): Rows = copy(verification = result)

    override def by: Map[String, String] = method

    override def check(epoch: String, table: QualifiedName, keys: Seq[String]): Unit =
      if (stored != expected)
        throw Conditions.RowsDropped(
          "stored" -> stored,
          "sent" -> expected,
          "epoch" -> epoch,
          "table" -> table,
          "found" -> s"the database stored $stored of the ${Plural.of(expected, "row")}")
  }

  /** Rows share a key, and no order column decides between them. */
  final case class DuplicateKeys(rows: Long) extends Loaded {
    override def stored: Long = 0L
    override def check(epoch: String, table: QualifiedName, keys: Seq[String]): Unit =
      throw Conditions.DuplicateKeys("epoch" -> epoch, "rows" -> rows, "columns" -> keys.mkString(", "))
  }
}
