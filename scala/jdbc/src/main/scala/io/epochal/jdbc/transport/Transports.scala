package io.epochal.jdbc.transport

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.thread.DaemonThreads
import io.epochal.jdbc.database.{BulkLoad, BulkRun, Database, WriteMode}
import io.epochal.jdbc.option.TransportChoice
import io.epochal.kit.sink.transport.Shipment

/** Which transport an epoch takes, and what is said of it. */
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

  /** For the progress: what an epoch took, and why. */
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

/** Removes what tasks of a failed epoch have left in the database, as far as that can be done by this run. */
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
