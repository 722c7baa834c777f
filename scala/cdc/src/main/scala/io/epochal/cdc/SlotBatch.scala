package io.epochal.cdc

import java.lang.Long.compareUnsigned
import java.sql.{Connection, SQLException}

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Message.{Begin, Relation}
import io.epochal.cdc.pgoutput.{Bytes, Lsn, Message}
import io.epochal.cdc.slot.{Signal, SlotStream}
import io.epochal.core.error.Conditions
import io.epochal.core.journal.{Frame, Slice}
import io.epochal.core.option.OptionGroup
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._
import io.epochal.kit.source.journal.Frames

/** A batch of the changes that a slot has, up to the end of the log when it is planned. One task reads them from the server, which
  * keeps them: nothing is confirmed.
  */
final private class SlotBatch(
    options: CdcOptions,
    tables: CdcTables,
    schema: StructType,
    binary: Boolean,
    range: CommitRange)
    extends Batch {

  override def planInputPartitions(): Array[InputPartition] = {
    val slot = options.slot.getOrElse(
      throw OptionGroup
        .missing(CdcOptions.Format, CdcOptions.Slot, "a batch has the changes that the server keeps for a slot"))
    val server = options.server
    server.sql { connection =>
      val check = new ServerCheck(options.copy(createsSlot = false, createsPublication = false), server, tables)
      val needs = check.needsOf(slot, None).copy(copies = false)
      val facts = check.facts(connection, needs)
      check.requireReady(facts, needs)
      val begins = facts.slot.flatMap(_.confirmed).getOrElse(0L)
      val asked = range.from != CommitVersion.First
      if (asked && compareUnsigned(range.from.lsn, begins) < 0)
        throw Conditions.SlotLost.withHint(
          s"Read CHANGES FROM VERSION '${Lsn.show(begins)}', or load the table again.")(
          "slot" -> slot,
          "url" -> server.place,
          "what" -> s"begins at ${Lsn.show(begins)}, after ${Lsn.show(range.from.lsn)}")
      val end = SlotBatch.end(connection, facts.server.isStandby)
      val until = if (range.until.isAfter(end, 0)) CommitVersion(end, 0) else range.until
      val from = if (asked) range.from.lsn else begins
      val origin =
        CdcOrigin(slot, needs.publication, facts.server.systemId, facts.server.timeline, from, snapshot = false)
      val hasMessages = facts.server.major >= 14
      Array(SlotPartition(origin, until, binary && hasMessages, hasMessages))
    }
  }

  override def createReaderFactory(): PartitionReaderFactory = new SlotReaderFactory(options, tables, schema, range)
}

private object SlotBatch {

  /** Where the log ends. A primary writes a message there, so that the server has something to send after that position. */
  def end(connection: Connection, isStandby: Boolean): Long = {
    val position = if (isStandby) Sql.raw("SELECT pg_last_wal_replay_lsn()") else Signal.sql(Signal.Beat)
    sql"SELECT (($position) - '0/0')::bigint".query(connection)(_.getLong(1)).head
  }
}

/** The changes of a slot from its origin to a place.
  *
  * @param messages
  *   whether the server can send messages in the log
  */
final private case class SlotPartition(origin: CdcOrigin, until: CommitVersion, binary: Boolean, messages: Boolean)
    extends InputPartition

/** Serialized to the executors. */
final private class SlotReaderFactory(options: CdcOptions, tables: CdcTables, schema: StructType, range: CommitRange)
    extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case part: SlotPartition =>
      val frames = new SlotFrames(options, tables, part)
      new TypedReader(frames, tables.only.columns, schema, Some(range.copy(until = part.until)))
    case other => throw new IllegalArgumentException(s"not a partition of ${options.source}: $other")
  }
}

/** The frames of a partition, as the server sends its changes. */
final private class SlotFrames(options: CdcOptions, tables: CdcTables, part: SlotPartition) extends Frames {
  private val SlotPartition(origin, until, binary, messages) = part
  private val server = options.server
  private val plan = CapturePlan(options, server, tables, binary)
  private val capturedTables = new CapturedTables(plan, origin)
  private val stream: SlotStream = server.stream(origin.slot, origin.publication, origin.start, binary, messages)

  private var rows = 0L
  private var isEnded = false

  private val intake = new ChangeIntake(
    ChangeState.Empty,
    new ChangeRules(options.preimages, options.onTruncate),
    new TableSnapshots(plan, origin).view(ChangeState.Empty),
    origin.slot,
    server.place)

  override def next(into: Int => Array[Byte]): Option[Slice] = {
    var frame = Option.empty[ChangeFrame]
    while (frame.isEmpty && !isEnded) frame = step()
    frame.map { case ChangeFrame(count, Bytes(array, offset, length), _, _) =>
      System.arraycopy(array, offset, into(length), 0, length)
      val first = rows
      rows += count
      Slice("", Frame(0, length, first, count, 0), skip = 0, take = count)
    }
  }

  private def step(): Option[ChangeFrame] =
    try
      stream.poll() match {
        case null =>
          if (hasAll) end()
          else {
            Thread.sleep(1)
            None
          }
        case bytes =>
          Message.read(bytes) match {
            // It begins a transaction that is not before the end.
            case begin: Begin if !until.isAfter(begin.commitLsn, 0) => end()
            case relation: Relation =>
              val before = intake.definition(relation.oid)
              intake.define(relation, Try(capturedTables.capture(relation, before, lsn = None)))
            case message => intake.read(message)
          }
      }
    catch { case error: SQLException => throw server.explain(error) }

  /** Whether the server has sent every transaction before the end. */
  private def hasAll: Boolean = {
    val order = compareUnsigned(stream.received, until.lsn)
    order > 0 || order == 0 && until.ordinal == 0
  }

  private def end(): Option[ChangeFrame] = {
    isEnded = true
    intake.flush()
  }

  override def close(): Unit = stream.close()
}
