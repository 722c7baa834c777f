package io.epochal.cdc

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.epochal.cdc.change.MarkerFiles
import io.epochal.cdc.slot.ServerFacts
import io.epochal.core.error.EpochalException
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.journal.AcknowledgedSource

/** The driver side of a stream: the changes of a slot, in the journal of the checkpoint, from `open` to `close`. */
final private[cdc] class CdcSource(plan: CapturePlan, factory: CdcReaderFactory, defaultPartitions: => Int)
    extends AcknowledgedSource[CdcPosition](CdcOptions.Format, factory, defaultPartitions) {

  import plan.{options, tables}

  @volatile private var capture = Option.empty[Capture]
  @volatile private var origin = Option.empty[CdcOrigin]
  private var isClosed = false

  /** The log position up to which a bounded run delivers, until it is found in the journal. */
  private var target = Option.empty[Long]

  private def running: Capture = capture.getOrElse(throw new IllegalStateException(s"$name is not open"))

  override def limit: ReadLimit = options.limit

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  /** Creates the slot. Markers that an earlier start on another server left do not apply to it. */
  override def first: CdcPosition = {
    MarkerFiles.in(factory.store).clear()
    CdcPosition(0, new FirstStart(plan, factory.store.toString).create())
  }

  override def toJson(position: CdcPosition): String = CdcOffset.toJson(options.source, position)

  override def fromJson(json: String): Either[EpochalException, CdcPosition] =
    CdcOffset.fromJson(options.source, json)

  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    capture.fold(Map.empty[String, String])(_.metrics)

  override def open(start: CdcPosition, loggedEnd: CdcPosition): Unit = synchronized {
    if (isClosed) throw new InterruptedException(s"$name is closed")
    if (capture.isEmpty) {
      requireRowsOf(start.origin)
      origin = Some(start.origin)
      val journal = takeOver(CdcSource.SegmentBytes)
      begin(journal, start, loggedEnd)
      val next = faults.naming(new Capture(plan, start.origin, journal, factory.store, faults, target))
      capture = Some(next)
      next.start()
    }
  }

  /** Refuses generic rows from a checkpoint of one table, and the reverse. */
  private def requireRowsOf(origin: CdcOrigin): Unit =
    if (tables.isSeveral != origin.tables.nonEmpty)
      throw TableNames.error(s"it has ${if (tables.isSeveral) "one" else "several"}")

  override protected def end(journal: AcknowledgedJournal): Unit =
    target = Some(plan.server.sql(ServerFacts.end(_)))

  /** A bounded run first waits for all changes up to its end or an error, or as many as the journal takes. */
  override def available(start: CdcPosition, most: Long): Long = {
    for (lsn <- target) {
      while (!running.isDurable(lsn) && !running.isFull && ended.isEmpty) Thread.sleep(CdcSource.EndPause)
      if (running.isDurable(lsn)) {
        freeze(journal.until)
        target = None
      }
    }
    super.available(start, most)
  }

  override protected def journal: AcknowledgedJournal = running.journal
  override protected def isOpen: Boolean = capture.nonEmpty

  override protected def ended: Option[EpochalException] = running.ended

  override protected def deliveredUntil(row: Long): Unit = running.deliveredUntil(row)
  override protected def numPartitions: Option[Int] = options.numPartitions
  override protected def row(position: CdcPosition): Long = position.row

  override protected def position(row: Long): CdcPosition =
    CdcPosition(row, origin.getOrElse(throw new IllegalStateException(s"$name is not open")))

  override def close(): Unit = synchronized {
    isClosed = true
    hide()
    capture.foreach(_.close())
  }
}

private object CdcSource {
  val SegmentBytes: Long = 64L << 20

  /** Milliseconds. */
  val EndPause = 10L
}
