package io.epochal.jdbc.transport

import java.util.UUID

import scala.util.Try
import scala.util.control.NonFatal

import io.epochal.core.error.Condition
import io.epochal.jdbc.database.{BulkCopy, BulkLoad, BulkRun, ConnectionPool, Database, Dialect}
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.sink.row.RowFormat
import io.epochal.kit.sink.transport.{
  BufferedOutput,
  BulkMessage,
  TaskAttempt,
  TaskMessage,
  TaskOutput,
  TaskReport,
  Transport
}

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
        transaction = database.dialect.begin(lease.connection, transport.options.lockTimeout, transport.run.writer)
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
