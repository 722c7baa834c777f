package io.epochal.kit.sink

import scala.annotation.unused

import io.epochal.kit.sink.flush.RowFlush
import io.epochal.kit.sink.row.RowFormat
import io.epochal.kit.sink.transport.{DriverTransport, RowFiles, Shipment, Transport}

/** The target of a run: found or created, and bound to the query's columns. */
trait SinkTarget {

  /** For messages. */
  def name: String

  /** The system, for messages. */
  def place: String

  /** How tasks encode rows. */
  def rowFormat: RowFormat

  /** The transport of an epoch's rows.
    *
    * @param limit
    *   bytes that may travel in the messages of all tasks
    * @param files
    *   for larger tasks; None: there is no place for files
    */
  def transport(tasks: Int, limit: Long, files: => Option[RowFiles]): Transport =
    DriverTransport.shared(tasks, limit, files)

  /** Whether tasks can store rows in the middle of an epoch; otherwise only micro-batches can be written. */
  def flushes: Boolean = false

  /** Creates the tasks' [[RowFlush]]; called if `flushes`, before the first task. */
  def flush(@unused queryId: String): RowFlush = throw new UnsupportedOperationException(s"no flushes into $name")

  /** Stops all tasks of this run from storing rows in the middle of an epoch, with the reason. It may fail. */
  def failed(@unused reason: String): Unit = ()

  /** For the progress: which transport the rows took, and why. */
  def describe(shipment: Shipment, @unused tasks: Int): Map[String, String] = Map("transport" -> shipment.driverWay)

  /** Runs `body` in a transaction that it commits itself; uncommitted work is rolled back. A transient failure runs all of it
    * again, in a new transaction with the same [[CommitDoubt]].
    *
    * @param step
    *   completes "failed in …"
    * @throws EpochalException
    *   COMMIT_UNKNOWN
    */
  def attempt[A](step: String)(body: SinkTransaction => A): A

  /** After the COMMIT, or for an epoch committed before: finishes what tasks have brought to the system themselves. */
  def committed(@unused shipment: Shipment, @unused outcome: EpochOutcome): Unit = ()

  /** After an epoch failed, while its tasks may still run: removes their data from the system. It must not fail, which would
    * hide the reason; the next claim removes the rest.
    */
  def abandoned(): Unit = ()
}
