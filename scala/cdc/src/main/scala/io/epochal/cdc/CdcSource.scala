package io.epochal.cdc

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType

import io.epochal.cdc.change.{MarkerFiles, OnSchemaChange}
import io.epochal.cdc.slot.ServerFacts
import io.epochal.core.error.Conditions
import io.epochal.core.journal.Slice
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.database.PostgresColumn
import io.epochal.kit.source.StoredMark
import io.epochal.kit.source.journal.{AcknowledgedSource, FeedRows, JournalRows}
import io.epochal.kit.store.HadoopFileStore

/** The driver side of a stream: the changes of a slot, in the journal of the checkpoint, from `open` to `close`. */
final private[cdc] class CdcSource(plan: CapturePlan, factory: CdcReaderFactory, defaultPartitions: => Int)
    extends AcknowledgedSource[CdcPosition, Capture](
      CdcOffset,
      factory,
      plan.options.numPartitions.getOrElse(defaultPartitions)) {

  import plan.{options, tables}

  /** The log position up to which a bounded run delivers, until it is found in the journal. */
  private var target = Option.empty[Long]

  override def limit: ReadLimit = options.limit

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  /** Creates the slot. Markers that an earlier start on another server left do not apply to it. */
  override def first: CdcPosition = {
    MarkerFiles.in(factory.store).clear()
    factory.store.below(Capture.ReloadDirectory).deleteAll(factory.store.below(Capture.ReloadDirectory).names()): Unit
    StoredMark.in(factory.store).clear()
    CdcPosition(0, new FirstStart(plan, factory.store.toString).create())
  }

  /** The slot, unless this query has it now. */
  override def remains(first: String): Option[String] = for {
    other <- fromJson(first).left.toOption.flatMap(_.values.get("sourceId"))
    slot <- CdcOffset.fromJson(other, first).toOption.map(_.origin.slot)
    if !(options.slot.contains(slot) && other.startsWith(s"${plan.server.place}#"))
  } yield s"The slot $slot of $other may still keep the server's log. Unless another reader needs it, drop it in that database: SELECT pg_drop_replication_slot('$slot');"

  override protected def segmentBytes: Long = CdcSource.SegmentBytes

  override protected def newReceiver(start: CdcPosition, takeOver: () => AcknowledgedJournal): Capture = {
    requireRowsOf(start.origin)
    val journal = takeOver()
    val capture = faults.naming(new Capture(plan, start.origin, journal, factory.store, faults, target))
    capture.deliveredUntil(start.row)
    capture
  }

  /** Refuses rows of several tables from a checkpoint of one, and the reverse; and JSON from a journal that may have binary values. */
  private def requireRowsOf(origin: CdcOrigin): Unit = {
    if (tables.isSeveral != origin.tables.nonEmpty)
      throw TableNames.error(s"it has ${if (tables.isSeveral) "one" else "several"}")
    if (tables.isSeveral && tables.rows != origin.rows)
      throw Conditions.TablesChanged
        .withHint(s"Set {option:rows=${origin.rows.name}}.")("change" -> s"it has {option:rows=${origin.rows.name}}")
  }

  override protected def end(journal: AcknowledgedJournal): Unit =
    target = Some(plan.server.sql(ServerFacts.end(_)))

  /** A bounded run first waits for all changes up to its end or an error, or as many as the journal takes. */
  override def available(start: CdcPosition, most: Long): Long = {
    receiver.deliveredUntil(start.row)
    for (lsn <- target) {
      while (!receiver.isDurable(lsn) && !receiver.isFull && receiver.ended.isEmpty) Thread.sleep(CdcSource.EndPause)
      if (receiver.isDurable(lsn)) {
        freeze(receiver.deliverableUntil(start.row))
        target = None
      }
    }
    super.available(start, math.min(most, receiver.waitingChanges.most(start.row)))
  }

  override protected def deliverableUntil(start: Long): Long = receiver.deliverableUntil(start)

  /** The two rows of an update stay in one batch: the first one has the key of the values that the second one may lack. So do those of
    * a comparison.
    */
  override def take(start: CdcPosition, rows: Long): CdcPosition =
    if (rows == 0) start
    else {
      val least = math.max(rows, receiver.waitingChanges.least(start.row))
      super.take(start, if (isWithinUpdate(start.row + least)) least + 1 else least)
    }

  /** Whether the rows before a position and after it are of one update. A frame has both. */
  private def isWithinUpdate(row: Long): Boolean = row != deliverableUntil(row - 1) && row < receiver.journal.until && {
    val slices = receiver.journal.plan(row - 1, row + 1).slices
    slices.size == 1 && Using.resource(factory.rows(slices.iterator)) { rows =>
      def version = Option.when(rows.next())(factory.version(rows.get()))
      val (one, other) = (version, version)
      one.nonEmpty && one == other
    }
  }

  override protected def row(position: CdcPosition): Long = position.row

  override protected def position(row: Long): CdcPosition = CdcPosition(row, receiver.origin)
}

private object CdcSource {
  val SegmentBytes: Long = 64L << 20

  /** Milliseconds. */
  val EndPause = 10L
}

/** Creates readers of changes. Serialized to the executors.
  *
  * @param tables
  *   the columns of each table by its name, as they were when the query was planned
  */
final private[cdc] class CdcReaderFactory(
    options: CdcOptions,
    tables: Map[String, Seq[PostgresColumn]],
    schema: StructType,
    override val store: HadoopFileStore)
    extends FeedRows {

  override def source: String = options.source

  /** The `_commit_version` of a stream's row. */
  def version(row: InternalRow): Any = row.toSeq(schema)(schema.fieldIndex("_commit_version"))

  private def follows = options.onSchemaChange == OnSchemaChange.Follow

  override def rows(slices: Iterator[Slice]): JournalRows = options.rows match {
    case RowShape.Json    => new GenericReader(frames(slices), tables.values.flatten.toSeq, schema)
    case RowShape.Typed   => new TablesReader(frames(slices), tables, schema, follows)
    case RowShape.OfTable => new TypedReader(frames(slices), tables.head._2, schema, follows = follows)
  }

  override def lost(from: Long, until: Long, reason: String): String = options.lost(from, until, reason)
}
