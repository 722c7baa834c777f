package io.epochal.jdbc.transport

import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.core.thread.DaemonThreads
import io.epochal.jdbc.database.{BulkCopy, BulkLoad, BulkRun, ConnectionPool, Database, WriteMode}
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.table.Interference
import io.epochal.kit.sink.row.RowFormat
import io.epochal.kit.sink.transport._

/** Tasks bring rows to the database themselves: from the first row, or once they exceed what a message may hold.
  *
  * Serialized to the tasks with the login. `toString` contains no secrets.
  *
  * @param maxInlineBytes
  *   maximum bytes of one task's rows in its message; 0: send no rows by message
  * @param run
  *   the run that owns the rows
  */
final private[jdbc] case class BulkTransport(
    options: JdbcOptions,
    maxInlineBytes: Long,
    load: BulkLoad,
    run: BulkRun
) extends Transport {

  override def open(format: RowFormat, attempt: TaskAttempt): TaskOutput = new BulkOutput(this, format, attempt)

  override def toString: String = s"${load.name} in ${options.connection.place}"
}

final private class BulkOutput(transport: BulkTransport, format: RowFormat, attempt: TaskAttempt)
    extends TaskOutput(format) {
  // Most tasks have few rows, which travel in the message: they need no database.
  private lazy val token = UUID.randomUUID().toString
  private lazy val database = {
    val options = transport.options
    new Database(Dialects.of(options.connection.url).get, options, () => ())
  }
  private var lease: ConnectionPool.Lease = _
  private var transaction = Option.empty[String]
  private var copy: BulkCopy = _
  private val write: (Array[Byte], Int) => Unit = (bytes, length) => copy.write(bytes, length)

  // Bytes to hold before sending.
  private var limit = transport.maxInlineBytes

  override def rowEnded(): Unit = if (holds > limit) {
    if (copy == null) begin()
    sendHeld()
  }

  /** Opens the copy before anything is sent: so transient failures are retried here; later ones by Spark, with the whole task. */
  private def begin(): Unit = {
    database.retrying(step, diagnose = diagnose) {
      lease = database.lend()
      try {
        transaction = lease.begin(transport.options.lockTimeout, transport.run.writer)
        copy = transport.load.open(lease.connection, transport.run, attempt, token)
      } catch {
        case error: Throwable =>
          close()
          throw error
      }
    }
    limit = 256L << 10
  }

  private def sendHeld(): Unit = once(None)(send(write))

  /** Runs a step that cannot be repeated: its rows are gone. A lost connection is given up before a new one is used, since tasks that
    * lost theirs together would wait for each other. The new one finds out what became of the step: it took effect, or a newer run
    * has ended its transaction.
    */
  private def once[A](outcome: => Option[A])(body: => A): A = database.explaining(step, diagnose) {
    try body
    catch {
      case NonFatal(error) if database.errors.losesConnection(error) =>
        giveUp()
        outcome.getOrElse {
          throw Try(database.onConnection(step)(transport.load.fenced(_, transport.run))).toOption.flatten
            .getOrElse(error)
        }
    }
  }

  /** Diagnosis needs a second connection: this task's is returned before. */
  private def diagnose(error: EpochalException): EpochalException = {
    close()
    Interference.diagnose(database, transport.run, transport.load.tables)(error)
  }

  private def step: String = s"the load of partition ${attempt.partition} of ${Condition.named(attempt.epoch)}"

  override def finish(report: TaskReport): TaskMessage =
    if (copy == null) held(report)
    else {
      sendHeld()
      // If only the response was lost, a second attempt would wait for the keys of the first.
      def outcome = if (copy.isInDoubt) database.onConnection(step)(copy.find(_, transaction)) else None
      val place = once(outcome)(copy.finish(report.digest, report.digest.rows - report.deadLetters.length))
      copy = null
      BulkMessage(report, bytes, place, token)
    }

  private def giveUp(): Unit = if (lease != null) {
    val lostLease = lease
    lease = null
    lostLease.abandon()
    try lostLease.close()
    catch { case NonFatal(_) => () }
  }

  /** Rolls back what is not finished; on a lost connection, the database does so. */
  override def close(): Unit = if (lease != null) {
    val ending = lease
    lease = null
    try
      if (copy != null) {
        copy.cancel()
        database.dialect.rollback(ending.connection)
      }
    catch { case NonFatal(_) => () }
    finally {
      copy = null
      ending.close()
    }
  }
}

/** Chooses the transport of an epoch, and describes it in the progress metrics. */
private[jdbc] object Transports {

  /** Transport through the database. With `auto`, the tasks share the inline limit evenly, so that skew cannot exceed it as a whole:
    * a task that needs more than its share switches to staging.
    */
  def bulk(database: Database, bulk: BulkLoad, run: BulkRun, tasks: Int, limit: Long): BulkTransport = {
    // Rows that replace others pass through a separate table in any case, and tasks fill it faster than the driver does.
    val most = if (run.table.mode == WriteMode.Append) limit else math.min(limit, MaxInlineForMerge)
    val share = if (database.isAuto) most / math.max(tasks, 1) else 0L
    BulkTransport(database.options.forTasks, share, bulk, run)
  }

  /** Per epoch. Below this size inline is no slower, and it survives a crash of the server. */
  private val MaxInlineForMerge = 8L << 20

  /** For the progress metrics: the transport of an epoch, and the reason. */
  def describe(database: Database, shipment: Shipment, tasks: Int): Map[String, String] = {
    val stagedTasks = shipment.elsewhere.size
    val files = shipment.files.size
    val way = (database.bulk, stagedTasks) match {
      case (Some(bulk), n) if n > 0 => if (shipment.rows.rows > 0) s"${shipment.driverWay}+${bulk.name}" else bulk.name
      case _                        => shipment.driverWay
    }
    val reason =
      if (!database.isAuto) s"transport=${database.options.transport.name}"
      else if (files > 0)
        s"$files of $tasks tasks exceeded their share of inlineMaxBytes, and ${database.dialect.name} has no staging"
      else if (database.bulk.isEmpty) s"${database.dialect.name} has no other transport"
      else if (stagedTasks > 0) s"$stagedTasks of $tasks tasks exceeded their share of inlineMaxBytes"
      else s"${shipment.bytes} bytes, within inlineMaxBytes"
    Map("transport" -> way, "transportReason" -> reason)
  }
}

/** Removes what the tasks of a failed epoch left in the database, as far as this run can. */
private[jdbc] object Leftovers {
  private val log = LoggerFactory.getLogger("io.epochal.jdbc.transport.Leftovers")

  /** Spark reports a failure before all tasks have ended, so the settlement is repeated later. This run commits nothing
    * any more.
    */
  def settle(database: Database, run: => BulkRun): Unit = database.bulk.foreach { bulk =>
    def now(): Unit =
      try bulk.settle(database, run)
      catch {
        // Spark would report a failure of `abort` as the query's failure, instead of the stop.
        case _: InterruptedException => Thread.currentThread().interrupt()
        case NonFatal(error) =>
          log.warn(
            "epochal-jdbc: could not remove leftovers of the failed epoch, the next start removes them: {}",
            error.getMessage)
      }
    now()
    val later = new DaemonThreads("epochal-leftovers").newThread { () =>
      Pauses.foreach { pause =>
        Thread.sleep(pause)
        now()
      }
    }
    later.start()
  }

  /** Pauses in milliseconds: most tasks end at once, on a busy machine they take longer. */
  private val Pauses = Seq(3000L, 7000L, 20000L)
}
