package io.epochal.rest.sink

import scala.collection.mutable

import io.epochal.core.error.{Conditions, EpochalException}

/** The rejected rows of one attempt of one task, in memory until its commit message.
  *
  * @param limit
  *   per epoch; None: the first one fails it
  */
final private[rest] class RefusedRows(limit: Option[Int], partition: Int, epoch: String, place: String) {
  private val rows = mutable.ArrayBuffer.empty[RefusedRow]
  private var chars = 0L

  /** @throws EpochalException
    *   if the row fails its epoch
    */
  def add(row: Long, key: String, reason: String, json: => String): Unit = {
    val maxRows = limit.getOrElse(throw RefusedRows.refusal(partition, row, epoch, place, reason))
    rows += RefusedRow(partition, row, key, reason, json)
    chars += rows.last.json.length
    if (rows.size > maxRows) throw RefusedRows.tooMany(epoch, s"{option:maxBadRows=$maxRows}", rows.head)
    if (chars > RefusedRows.MaxChars)
      throw RefusedRows.tooMany(epoch, s"${RefusedRows.MaxChars} characters of JSON in one task", rows.head)
  }

  def result(): Array[RefusedRow] = rows.toArray
}

private[rest] object RefusedRows {

  /** Bounds the memory of the task, and of the driver, which collects all tasks' rows. */
  val MaxChars: Long = 16L << 20

  def refusal(partition: Int, row: Long, epoch: String, place: String, reason: String): EpochalException =
    Conditions.RowRefused("row" -> row, "partition" -> partition, "epoch" -> epoch, "url" -> place, "reason" -> reason)

  def tooMany(epoch: String, limit: String, first: RefusedRow): EpochalException = Conditions.TooManyRefusedRows(
    "epoch" -> epoch,
    "limit" -> limit,
    "row" -> first.row,
    "partition" -> first.partition,
    "reason" -> first.reason)
}
