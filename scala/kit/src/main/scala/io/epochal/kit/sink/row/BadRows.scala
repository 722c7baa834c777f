package io.epochal.kit.sink.row

import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException, Reference}
import io.epochal.kit.spark.RejectedRowJson
import io.epochal.kit.spark.memory.BinaryRow

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
    val limit = policy.limit.getOrElse(throw refusal(number, bad))
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

  private def refusal(number: Long, bad: BadValue): EpochalException = {
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
