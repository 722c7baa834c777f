package io.epochal.jdbc.transport

import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.Condition
import io.epochal.core.thread.DaemonThreads
import io.epochal.jdbc.database.{BulkCopy, BulkLoad, BulkRun, ConnectionPool, Database, Dialect, WriteMode}
import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.kit.sink.row.RowFormat
import io.epochal.kit.sink.transport._

/** Tasks bring rows to the database themselves: at once, or when they have become too many for a message.
  *
  * Travels to the tasks with what it takes to log in. It prints without secrets.
  *
  * @param maxInlineBytes
  *   of one task's rows in its message; 0: none
  * @param run
  *   whose rows they are
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
    extends BufferedOutput(format) {
  import BulkOutput._

  private val token = UUID.randomUUID().toString
  private val database = new Database(Dialect.of(transport.options.connection.url).get, transport.options, () => ())
  private var lease: ConnectionPool.Lease = _
  private var transaction = Option.empty[String]
  private var copy: BulkCopy = _
  private val write: (Array[Byte], Int) => Unit = (bytes, length) => copy.write(bytes, length)

  // What may be held before it is sent.
  private var limit = transport.maxInlineBytes

  override def rowEnded(): Unit = if (holds > limit) {
    if (copy == null) begin()
    sendHeld()
  }

  /** Nothing has been sent yet: until then a transient failure is tried again here, later by Spark as a whole task. */
  private def begin(): Unit = {
    database.retrying(step) {
      lease = database.lend()
      try {
        transaction = database.dialect
          .begin(lease.connection, transport.options.lockTimeout, Some(transport.run.writer))
        copy = transport.load.open(lease.connection, transport.run, attempt, token)
      } catch {
        case error: Throwable =>
          close()
          throw error
      }
    }
    limit = SendBytes
  }

  private def sendHeld(): Unit = explaining(send(write))

  /** A newer run ends the transactions of older ones: their tasks say so, and not that they lost a connection. */
  private def explaining[A](body: => A): A = database.explaining(step) {
    try body
    catch {
      case NonFatal(error) if database.losesConnection(error) =>
        giveUp()
        throw Try(database.connected(step)(transport.load.fenced(_, transport.run))).toOption.flatten.getOrElse(error)
    }
  }

  private def step: String = s"the load of partition ${attempt.partition} of ${Condition.named(attempt.epoch)}"

  override def finish(report: TaskReport): TaskMessage =
    if (copy == null) held(report)
    else {
      sendHeld()
      val place = explaining(finished(report))
      copy = null
      BulkMessage(report, bytes, place, token)
    }

  /** Where the rows are. A second attempt would wait for the keys of the first, if that has only lost the response. The lost
    * connection is given up before another is asked for: else tasks that lost theirs together would wait for each other.
    */
  private def finished(report: TaskReport): String =
    try copy.finish(report.digest, report.digest.rows - report.deadLetters.length)
    catch {
      case NonFatal(error) if copy.isInDoubt && database.losesConnection(error) =>
        giveUp()
        database.connected(step)(copy.find(_, transaction)).getOrElse(throw error)
    }

  private def giveUp(): Unit = if (lease != null) {
    val lost = lease
    lease = null
    lost.abandon()
    try lost.close()
    catch { case NonFatal(_) => () }
  }

  /** What is not finished is rolled back; where the connection is lost, the database does so. */
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

private object BulkOutput {
  val SendBytes: Long = 256L << 10
}

/** Chooses the transport of an epoch, and describes it for the progress. */
private[jdbc] object Transports {

  /** By way of the database. With `auto`, the tasks share the bytes that may travel in messages evenly, so that no skew makes
    * the whole pass the limit: a task that needs more than its share goes on by staging.
    */
  def bulk(database: Database, bulk: BulkLoad, run: BulkRun, tasks: Int, limit: Long): BulkTransport = {
    val options = database.options
    bulk.checkTasks(database, tasks).fold(throw _, identity)
    val share = if (options.transport == TransportChoice.Auto) inlineBytes(run, limit) / math.max(tasks, 1) else 0L
    BulkTransport(options.copy(connection = options.connection.resolved), share, bulk, run)
  }

  /** Rows that replace others come by way of a table of their own in any case: tasks fill it faster than the driver does. */
  private def inlineBytes(run: BulkRun, limit: Long): Long = run.table.mode match {
    case WriteMode.Append    => limit
    case _: WriteMode.Upsert => math.min(limit, MaxInlineForMerge)
  }

  /** Of an epoch. Less is no slower inline, and does not mind a crash of the server. */
  private val MaxInlineForMerge = 8L << 20

  /** For the progress: which transport an epoch used, and why. */
  def describe(database: Database, shipment: Shipment, tasks: Int): Map[String, String] = {
    val staged = shipment.elsewhere.size
    val files = shipment.files.size
    val taken = (database.bulk, staged) match {
      case (Some(bulk), n) if n > 0 => if (shipment.rows.rows > 0) s"${shipment.driverWay}+${bulk.name}" else bulk.name
      case _                        => shipment.driverWay
    }
    val reason = database.options.transport match {
      case TransportChoice.Auto if files > 0 =>
        s"$files of $tasks tasks exceeded their share of inlineMaxBytes, and ${database.dialect.name} has no staging"
      case TransportChoice.Auto if database.bulk.isEmpty => s"${database.dialect.name} has no other transport"
      case TransportChoice.Auto if staged > 0 =>
        s"$staged of $tasks tasks exceeded their share of inlineMaxBytes"
      case TransportChoice.Auto => s"${shipment.bytes} bytes, within inlineMaxBytes"
      case asked                => s"transport=${asked.name}"
    }
    Map("transport" -> taken, "transportReason" -> reason)
  }
}

/** Removes what the tasks of a failed epoch left in the database, as far as this run can. */
private[jdbc] object Leftovers {
  private val log = LoggerFactory.getLogger("io.epochal.jdbc.transport.Leftovers")

  /** Spark tells a sink of a failure before all tasks have ended: so there are more looks, later. Nothing is committed by
    * this run any more.
    */
  def settle(database: Database, run: => BulkRun): Unit = database.bulk.foreach { bulk =>
    def now(): Unit =
      try bulk.settle(database, run)
      catch {
        // Spark would take a failure of `abort` for one of the query, in place of the stop.
        case _: InterruptedException => Thread.currentThread().interrupt()
        case NonFatal(error) =>
          log.warn(
            "epochal-jdbc: what the last epoch left behind could not be removed, the next start does it: {}",
            error.getMessage)
      }
    now()
    val later = new DaemonThreads("epochal-leftovers").newThread { () =>
      LaterLooks.foreach { pause =>
        Thread.sleep(pause)
        now()
      }
    }
    later.start()
  }

  /** Milliseconds before each: most tasks end at once, those of a busy machine need longer. */
  private val LaterLooks = Seq(3000L, 7000L, 20000L)
}
