package io.epochal.jdbc.database

import java.lang.Long.parseLong
import java.util.Locale

import io.epochal.kit.sink.SinkMetrics

/** The result of comparing a table, or a chunk of it, with its source.
  *
  * @param transaction
  *   the source's state that it was compared with: the first part of `_commit_version`
  * @param result
  *   the counts; Left: why there are none
  * @param keys
  *   some of the rows that differ
  * @param isReplaced
  *   whether the rows that differ were replaced
  * @param isRequested
  *   whether the rows were read in order to compare them
  * @param after
  *   the key after which the chunk begins; None: it has the first keys
  * @param until
  *   the last key of the chunk; None: it has the last keys
  */
final case class Verification(
    transaction: String,
    result: Either[String, Replacement],
    keys: Seq[String] = Nil,
    isReplaced: Boolean = false,
    isRequested: Boolean = true,
    after: Option[String] = None,
    until: Option[String] = None) {

  /** The position in the source's log, as PostgreSQL prints it. */
  def position: String = transaction match {
    case Verification.Lsn(halves @ _*) => "%X/%X".formatLocal(Locale.ROOT, halves.map(parseLong(_, 16)): _*)
    case other                         => other
  }

  /** Whether all rows were equal. */
  def isEqual: Boolean = result.exists(_.isEqual)

  /** The rows that were found to differ, if they stay so. */
  def differing: Long = if (isReplaced) 0L else result.fold(_ => 0L, _.differing)

  /** The same, with the reason why rows that differ stay. */
  def withoutCorrection(reason: String): Verification =
    copy(isReplaced = false, keys = keys :+ s"not corrected: ${reason.linesIterator.nextOption().getOrElse("")}")

  /** The result of this chunk and the next one, at the position of this one. If they do not adjoin, it is not compared, at the position of
    * the next one.
    */
  def followedBy(next: Verification): Verification =
    if (!until.exists(next.after.contains))
      next.copy(result = Left("a chunk was not compared"), after = None)
    else
      copy(
        result = result.flatMap(one => next.result.map(one + _)),
        keys = keys ++ next.keys,
        isReplaced = (isReplaced || next.isReplaced) && result.isRight && next.result.isRight,
        until = next.until)

  /** The result, without keys. */
  def summary: String = {
    val range = after.fold("")(key => s" after $key") + until.fold("")(key => s" up to $key")
    result.fold(
      reason => s"${Verification.NotCompared}$reason",
      rows => if (isReplaced && isRequested) s"$rows${Verification.Corrected}" else rows.toString) + range
  }

  override def toString: String = (summary +: keys.filter(_ => result.isRight)).mkString("; ")
}

object Verification {

  val NotCompared = "not compared: "
  val Corrected = ", corrected"

  /** The progress metrics of comparisons, by the tables: `verified` and `replaced`, and the rows that differed.
    *
    * @param differing
    *   the number of these rows that the epoch has found
    */
  def metrics(all: Seq[(String, Verification)], differing: Long): Map[String, String] = if (all.isEmpty) Map.empty
  else
    all
      .groupMap(one => if (one._2.isReplaced) "replaced" else "verified") { case (table, result) =>
        s"$table: ${result.summary}"
      }
      .map { case (name, texts) => name -> texts.mkString("; ") } +
      (SinkMetrics.DifferingRows -> differing.toString)

  private val Lsn = "([0-9A-F]{8})([0-9A-F]{8})".r
}
