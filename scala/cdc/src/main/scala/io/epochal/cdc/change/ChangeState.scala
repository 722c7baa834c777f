package io.epochal.cdc.change

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.cdc.pgoutput.Message
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.core.journal.JournalDamage
import io.epochal.core.journal.acknowledged.AcknowledgedJournal

/** The state that a run takes over from the rows before it: the journal repeats it at the beginning of its segments, and frames update it.
  *
  * @param last
  *   the last transaction that was written, if any
  * @param definitions
  *   of the captured tables, as the last written changes had them
  * @param snapshots
  *   what was written of each table's snapshot, by its OID, or [[SnapshotState.OnlyTable]]
  */
final private[cdc] case class ChangeState(
    last: Option[StoredTransaction],
    definitions: Map[Int, Relation],
    snapshots: Map[Int, SnapshotState]) {

  def snapshot(table: Int): SnapshotState = snapshots.getOrElse(table, SnapshotState.Empty)

  def withSnapshot(table: Int, snapshot: SnapshotState): ChangeState = copy(snapshots = snapshots + (table -> snapshot))

  /** The snapshots of the server in which rows were read. */
  def runs: Iterable[ServerSnapshot] = snapshots.values.flatMap(_.runs)

  /** Rows of all snapshots, and their latest `_commit_timestamp`. */
  def snapshotRows: Long = snapshots.values.map(_.rows).maxOption.getOrElse(0L)
  def snapshotStamp: Long = snapshots.values.map(_.stamp).maxOption.getOrElse(Long.MinValue)

  def after(frame: FrameReader): ChangeState = {
    val (ofSnapshot, changes) = frame.parts.map(_.stored).toSeq.partition(_.transaction.xid == 0)
    ChangeState(
      changes.lastOption.orElse(last),
      definitions ++ frame.definitions.map(relation => relation.oid -> relation),
      if (frame.note.isEmpty) snapshots
      else
        snapshots ++ SnapshotState.readNote(frame.note).map { case (table, progress) =>
          table -> snapshot(table).after(ofSnapshot.lastOption, progress)
        }
    )
  }

  /** Whether the rows before it have a transaction whole. */
  def contains(lsn: Long): Boolean = last.exists { part =>
    val order = java.lang.Long.compareUnsigned(part.transaction.lsn, lsn)
    order > 0 || order == 0 && part.isComplete
  }

  /** The state after a transaction without rows, if it is newer. */
  def after(witness: Option[CommittedTransaction]): ChangeState = witness
    .filter(marker => last.forall(part => java.lang.Long.compareUnsigned(marker.lsn, part.transaction.lsn) > 0))
    .fold(this)(marker => copy(last = Some(StoredTransaction(marker, ordinal = 0, crc = 0, isComplete = true))))

  def toBytes: Array[Byte] = {
    val fields = ChangeState.mapper.createObjectNode().put("v", ChangeState.Version)
    last.foreach(ChangeState.write(_, fields.putObject("last")))
    snapshot(SnapshotState.OnlyTable).write(fields.putObject("snapshot"))
    if (snapshots.exists(_._1 != SnapshotState.OnlyTable)) SnapshotState.writeAll(snapshots, fields)
    val array = fields.putArray("definitions")
    definitions.values.foreach(relation => array.add(relation.raw))
    ChangeState.mapper.writeValueAsBytes(fields)
  }
}

private[cdc] object ChangeState {
  private val Version = 1
  private[change] val mapper = new ObjectMapper

  val Empty: ChangeState = ChangeState(None, Map.empty, Map.empty)

  /** The state after the rows of a journal, and where its last whole transaction ends; None: it is not known.
    *
    * @param place
    *   of the journal, for the error
    * @throws JournalDamage
    *   if another release wrote it
    */
  def of(journal: AcknowledgedJournal, place: String): (ChangeState, Option[Long]) = {
    var last = Empty
    var openRows = Option(0L)
    try
      journal.restore { bytes =>
        last = read(bytes)
        openRows = Option.when(last.last.forall(_.isComplete))(0L)
      } { (bytes, length) =>
        val frame = new FrameReader(bytes, length)
        val parts = frame.parts.toSeq
        parts.lastOption.foreach { part =>
          openRows =
            if (part.isWhole) Some(0L)
            else if (parts.size > 1 || part.first == 0) Some(part.rows.toLong)
            else openRows.map(_ + part.rows)
        }
        last = last.after(frame)
      }
    catch { case e: IllegalArgumentException => throw new JournalDamage(place, e.getMessage) }
    (last, openRows.map(journal.until - _))
  }

  /** @throws IllegalArgumentException
    *   if another release wrote them
    */
  def read(bytes: Array[Byte]): ChangeState = {
    val fields = mapper.readTree(bytes)
    val version = fields.path("v").asInt
    require(version == Version, s"a state of version $version, and this release reads version $Version")
    val definitions = fields.path("definitions").elements.asScala.map { node =>
      val raw = node.binaryValue
      Message.read(raw, 0, raw.length)
    }
    ChangeState(
      Option(fields.get("last")).map { node =>
        val transaction = CommittedTransaction(
          node.get("lsn").longValue,
          node.get("xid").intValue,
          node.get("committedAt").longValue,
          node.get("stamp").longValue)
        StoredTransaction(
          transaction,
          node.get("ordinal").longValue,
          node.get("crc").intValue,
          node.get("complete").booleanValue)
      },
      definitions.collect { case relation: Relation => relation.oid -> relation }.toMap,
      if (fields.has("tables")) SnapshotState.readAll(fields)
      else Map(SnapshotState.OnlyTable -> SnapshotState.read(fields.path("snapshot")))
    )
  }

  private def write(part: StoredTransaction, fields: ObjectNode): Unit = {
    val StoredTransaction(CommittedTransaction(lsn, xid, at, stamp), ordinal, crc, isComplete) = part
    fields.put("lsn", lsn).put("xid", xid).put("committedAt", at).put("stamp", stamp)
    fields.put("ordinal", ordinal).put("crc", crc).put("complete", isComplete): Unit
  }
}
