package io.epochal.kit.sink.row

import scala.util.control.NoStackTrace

import org.apache.spark.sql.types.StructType

import io.epochal.core.annotation.Stable
import io.epochal.core.error.{Conditions, EpochalException, Reference}
import io.epochal.kit.spark.RejectedRowJson
import io.epochal.kit.spark.memory.BinaryRow

/** Encodes rows for a sink's system. Serialized to the tasks. */
trait RowFormat extends Serializable {
  def encoder(out: ChunkedBytes): RowEncoder
}

/** Encodes rows, one after the other. Belongs to one task. */
abstract class RowEncoder {

  /** Encodes a row.
    *
    * @throws BadValue
    *   if a value cannot be stored; the bytes written of the row must then be discarded with the task
    */
  def encode(row: BinaryRow): Unit
}

/** A value that the column cannot hold. The writer adds the row's number.
  *
  * @param column
  *   index in the query's rows
  */
@Stable
final class BadValue(val column: Int, val reason: String) extends RuntimeException(reason) with NoStackTrace

object BadValue {
  val Missing = "it is NULL, and the column must have a value"
}

/** The rows of an epoch as they reached the driver.
  *
  * @param chunks
  *   bytes and their length in use, in the order of the partitions; chunk boundaries depend on the format. Each iterator may
  *   read them again, from files too: use one at a time
  */
final case class EncodedRows(rows: Long, bytes: Long, chunks: Iterable[(Array[Byte], Int)])

/** A row that could not be stored, on its way to the dead-letter table.
  *
  * @param row
  *   its number in the partition, from 1
  * @param json
  *   the row's values by the names of the query's columns
  */
final case class DeadLetter(partition: Int, row: Long, column: String, reason: String, json: String)

/** The policy for bad rows. Serialized to the tasks.
  *
  * @param limit
  *   of an epoch; None: the first one fails it
  * @param table
  *   for messages
  */
final private[epochal] case class BadRows(limit: Option[Int], schema: StructType, table: String) {

  def ofTask(partition: Int, epoch: String): TaskBadRows = new TaskBadRows(this, partition, epoch)
}

private[epochal] object BadRows {

  /** Checks the limit of an epoch.
    *
    * @throws EpochalException
    *   if the epoch has more bad rows than the limit, in all its tasks together
    */
  def check(limit: Option[Int], letters: Seq[DeadLetter], epoch: String): Unit =
    limit.filter(letters.size > _).foreach(limit => throw tooMany(epoch, limitText(limit), letters.head))

  private[row] def tooMany(epoch: String, limit: String, first: DeadLetter): EpochalException =
    Conditions.TooManyBadRows(
      "epoch" -> epoch,
      "limit" -> limit,
      "row" -> first.row,
      "partition" -> first.partition,
      "column" -> first.column,
      "reason" -> first.reason)

  private[row] def limitText(limit: Int): String = s"{option:maxBadRows=$limit}"
}

/** The bad rows of one task attempt, in memory until its commit message. */
final private[epochal] class TaskBadRows(policy: BadRows, partition: Int, epoch: String) {
  import TaskBadRows._

  private val letters = Array.newBuilder[DeadLetter]
  private var first: DeadLetter = _
  private var count = 0
  private var chars = 0L
  private lazy val json = new RejectedRowJson(policy.schema)

  /** Adds a bad row.
    *
    * @throws EpochalException
    *   if the row fails its epoch
    */
  def add(number: Long, row: BinaryRow, bad: BadValue): Unit = {
    val limit = policy.limit.getOrElse(throw refused(number, bad))
    val reason = Reference.plain(bad.reason)
    val letter = DeadLetter(partition, number, policy.schema(bad.column).name, reason, json(row))
    if (count == 0) first = letter
    count += 1
    chars += letter.json.length
    if (count > limit) throw BadRows.tooMany(epoch, BadRows.limitText(limit), first)
    if (chars > MaxChars) throw BadRows.tooMany(epoch, s"$MaxChars characters of JSON in one task", first)
    letters += letter
  }

  def deadLetters: Array[DeadLetter] = letters.result()

  private def refused(number: Long, bad: BadValue): EpochalException = {
    val field = policy.schema(bad.column)
    Conditions.BadRow(
      "row" -> number,
      "partition" -> partition,
      "epoch" -> epoch,
      "table" -> policy.table,
      "column" -> field.name,
      "valueType" -> field.dataType.sql,
      "reason" -> bad.reason)
  }
}

private[epochal] object TaskBadRows {

  /** The limit of a task: bad rows are in the memory of the task, and of all tasks in the driver's. */
  val MaxChars: Long = 16L << 20
}
