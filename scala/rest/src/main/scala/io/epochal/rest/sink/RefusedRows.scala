package io.epochal.rest.sink

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.rest.http.request.HttpCounts

/** A row that could not be sent, or that the server refused.
  *
  * @param row
  *   its number in the partition, from 1
  * @param key
  *   the idempotency key of its request; empty without one
  * @param json
  *   all of the row
  */
final private[rest] case class RefusedRow(partition: Int, row: Long, key: String, reason: String, json: String)

/** What a task tells the driver when all of its rows are settled. */
final private[rest] case class RestTaskMessage(
    partition: Int,
    rows: Long,
    sentBytes: Long,
    counts: HttpCounts,
    refused: Array[RefusedRow]
) extends WriterCommitMessage

/** What becomes of refused rows in one attempt of one task; they wait in memory for its commit message.
  *
  * @param limit
  *   of an epoch; None: the first one fails it
  */
final private[rest] class RefusedRows(limit: Option[Int], partition: Int, epoch: String, place: String) {
  private val rows = Array.newBuilder[RefusedRow]
  private var first: RefusedRow = _
  private var count = 0
  private var chars = 0L

  /** @throws EpochalException
    *   the row fails its epoch
    */
  def add(row: Long, key: String, reason: String, json: => String): Unit = {
    val most = limit.getOrElse(throw RefusedRows.refused(partition, row, epoch, place, reason))
    val letter = RefusedRow(partition, row, key, reason, json)
    if (count == 0) first = letter
    count += 1
    chars += letter.json.length
    if (count > most) throw RefusedRows.tooMany(epoch, s"maxBadRows=$most", first)
    if (chars > RefusedRows.MaxChars)
      throw RefusedRows.tooMany(epoch, s"${RefusedRows.MaxChars} characters of JSON in one task", first)
    rows += letter
  }

  def result(): Array[RefusedRow] = rows.result()
}

private[rest] object RefusedRows {

  /** They are in the memory of the task, and all together in the driver's. */
  val MaxChars: Long = 16L << 20

  def refused(partition: Int, row: Long, epoch: String, place: String, reason: String): EpochalException =
    Conditions.RowRefused("row" -> row, "partition" -> partition, "epoch" -> epoch, "url" -> place, "reason" -> reason)

  def tooMany(epoch: String, limit: String, first: RefusedRow): EpochalException = Conditions.TooManyRefusedRows(
    "epoch" -> epoch,
    "limit" -> limit,
    "row" -> first.row,
    "partition" -> first.partition,
    "reason" -> first.reason)
}
