package io.epochal.jdbc.database

import java.lang.Long.parseLong
import java.util.Locale

import io.epochal.kit.sink.SinkMetrics

/** The result of comparing a table with its source.
  *
  * @param transaction
  *   the source's state that it was compared with: the first part of `_commit_version`
  * @param result
  *   the counts; Left: why there are none
  * @param keys
  *   some of the rows that differ
  * @param isReplaced
  *   whether the rows that differ were replaced
  */
final case class Verification(
    transaction: String,
    result: Either[String, Replacement],
    keys: Seq[String] = Nil,
    isReplaced: Boolean = false) {

  /** The position in the source's log, as PostgreSQL prints it. */
  def position: String = transaction match {
    case Verification.Lsn(halves @ _*) => "%X/%X".formatLocal(Locale.ROOT, halves.map(parseLong(_, 16)): _*)
    case other                         => other
  }

  /** Whether all rows were equal. */
  def isEqual: Boolean = result.exists(_.isEqual)

  /** The rows that were found to differ, if they stay so. */
  def differing: Long = if (isReplaced) 0L else result.fold(_ => 0L, _.differing)

  /** The result, without keys. */
  def summary: String = result.fold(reason => s"not compared: $reason", _.toString)

  override def toString: String = (summary +: keys).mkString("; ")
}

object Verification {

  /** The progress metrics of comparisons, by the tables: `verified` and `replaced`, and the rows that differed. */
  def metrics(all: Seq[(String, Verification)]): Map[String, String] = if (all.isEmpty) Map.empty
  else
    all
      .groupMap(one => if (one._2.isReplaced) "replaced" else "verified") { case (table, result) =>
        s"$table: ${result.summary}"
      }
      .map { case (name, texts) => name -> texts.mkString("; ") } +
      (SinkMetrics.DifferingRows -> all.map(_._2.differing).sum.toString)

  private val Lsn = "([0-9A-F]{8})([0-9A-F]{8})".r
}
