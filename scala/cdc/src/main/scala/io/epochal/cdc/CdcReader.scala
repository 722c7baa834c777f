package io.epochal.cdc

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.cdc.change.FrameReader.Part
import io.epochal.cdc.change.{FrameReader, RowChange}
import io.epochal.cdc.pgoutput.Lsn
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.core.error.Conditions
import io.epochal.kit.record.{ReplicaKey, SourceColumn}
import io.epochal.kit.source.journal.{Frames, JournalRows}
import io.epochal.kit.spark.ArrayRow

/** Rows of one task: a partition of a batch or a micro-batch, or an endless partition. The row is reused.
  *
  * @param range
  *   the rows to deliver, of those that the frames have; None: all
  */
abstract private class CdcReader(frames: Frames, protected val schema: StructType, range: Option[CommitRange])
    extends JournalRows {
  import CdcReader._

  final protected val values = new Array[Any](schema.length)
  private val row = ArrayRow(values)
  private val (unchangedColumns, changeType, version, timestamp) =
    (place("_unchanged_columns"), place("_change_type"), place("_commit_version"), place("_commit_timestamp"))

  /** The columns that the query may take for sent with each update. */
  protected var sentColumns: Set[UTF8String] = CdcReader.sentColumns(schema)

  protected var buffer = new Array[Byte](64 << 10)
  private var in = ByteBuffer.wrap(buffer)
  private var length = 0
  private var left = 0
  private var read = -1L
  protected var definitions: IndexedSeq[Relation] = IndexedSeq.empty
  private var parts: Iterator[Part] = Iterator.empty
  private var part: Part = _

  /** Position of the next change in the frame. */
  private var at = 0
  private var ordinal = 0L
  private var versionBytes = new Array[Byte](VersionLength)

  /** `_commit_version` of the row, and its ordinal. */
  private var commitVersion: UTF8String = _
  private var rowOrdinal = 0L

  /** The second row of the change that was read last: its kind, its ordinal, and where its tuple begins. */
  private var second: UTF8String = _
  private var secondAt = 0
  private var secondOrdinal = 0L

  /** Whether the change is part of a comparison. */
  private var isVerifying = false

  /** The definition of the change's table. */
  protected var table: Relation = _

  /** Prepares for the changes of a table. */
  protected def use(relation: Relation): Unit

  /** Reads the old tuple of an update, which begins with its kind; returns where the new one begins. */
  protected def readOld(at: Int): Int

  /** Sets the values of a row from the tuple of a change, which begins with its kind.
    *
    * @param completes
    *   whether the old tuple has values that the server left out: all of them, or those of a large key
    * @return
    *   the columns that are still left out; null if there are none
    */
  protected def set(at: Int, change: UTF8String, completes: Boolean): Array[UTF8String]

  final protected def place(column: String): Int = schema.fieldNames.indexOf(column)

  override def number: Long = read

  override def get(): InternalRow = row

  override def close(): Unit = frames.close()

  @scala.annotation.tailrec
  final override def next(): Boolean =
    if (left > 0) {
      left -= 1
      read += 1
      step()
      if (isWanted) true else next()
    } else if (nextFrame()) next()
    else false

  private def isWanted: Boolean = delivers && range.forall(_.contains(part.stored.transaction.lsn, rowOrdinal))

  /** Whether the query has rows of the change's table. */
  protected def delivers: Boolean = true

  private def nextFrame(): Boolean = frames.next(reserve) match {
    case None => false
    case Some(slice) =>
      val frame = new FrameReader(buffer, length)
      in = ByteBuffer.wrap(buffer, 0, length)
      definitions = frame.definitions
      parts = frame.parts
      part = null
      second = null
      // Rows of whole transactions are skipped without being read.
      var skip = slice.skip
      open()
      while (skip >= part.rows) {
        skip -= part.rows
        open()
      }
      left = slice.take
      read = slice.first - 1 - skip
      (0 until skip).foreach { _ =>
        read += 1
        step()
      }
      true
  }

  private def open(): Unit = {
    part = parts.next()
    at = part.changes
    ordinal = part.first
    versionBytes = new Array[Byte](VersionLength)
    hex(part.stored.transaction.lsn)
  }

  /** Reads the next row of the frame. */
  private def step(): Unit =
    if (second != null) {
      number(secondOrdinal)
      tuple(secondAt, second, completes = true)
      second = null
    } else {
      if (at == part.until) open()
      change()
    }

  private def change(): Unit = {
    val kind = RowChange.of(in.get(at))
    isVerifying = RowChange.isVerifying(kind.code)
    val relation = definitions(in.getShort(at + 1).toInt)
    val size = in.getInt(at + 3)
    val body = at + 7
    at = body + size
    if (relation ne table) {
      use(relation)
      table = relation
    }
    number(ordinal)
    deliver(kind, body)
    ordinal += kind.ordinals
  }

  private def deliver(kind: RowChange, body: Int): Unit =
    kind match {
      case RowChange.Insert   => tuple(body, Insert, isAlone = true)
      case RowChange.Delete   => tuple(body, Delete)
      case RowChange.Truncate => empty(Truncate)
      case RowChange.Update =>
        if (in.get(body) == 'N') tuple(body, After)
        else tuple(readOld(body), After, completes = true)
      case RowChange.BothImages        => two(body, Before, After)
      case RowChange.NewKey            => two(body, Delete, Insert)
      case RowChange.Verifying(change) => deliver(change, body)
      case RowChange.LowerBound        => tuple(body, VerifyAfter)
      case RowChange.UpperBound        => tuple(body, VerifyUntil)
      case RowChange.Verified          => empty(VerifyEnd)
      case RowChange.Repaired          => empty(VerifyRepair)
    }

  private def two(body: Int, one: UTF8String, other: UTF8String): Unit = {
    secondAt = readOld(body)
    second = other
    secondOrdinal = if (other eq Insert) ordinal + 1 else ordinal
    // The new row keeps values that were not sent: both rows have one version.
    if ((other eq Insert) && set(secondAt, other, completes = true) != null) number(secondOrdinal)
    tuple(body, one)
  }

  /** @param isAlone
    *   whether no row before it has the values that this one may lack
    */
  private def tuple(from: Int, change: UTF8String, completes: Boolean = false, isAlone: Boolean = false): Unit = {
    val left = set(from, change, completes)
    describe(change)
    def isPromised = unchangedColumns < 0 && left.exists(sentColumns.contains(_))
    if (left != null && ((change eq Insert) && (isAlone || unchangedColumns < 0) || isPromised))
      throw Conditions.ValueNotSent(
        "table" -> table.name,
        "column" -> left.mkString(", "),
        "position" -> (key :+ s"commit ${Lsn.show(part.stored.transaction.lsn)}").mkString(", "))
    if (unchangedColumns >= 0)
      values(unchangedColumns) = if (left == null) null else ArrayData.toArrayData(left)
  }

  /** The columns of the change's table, and the values of the row. */
  protected def ofTable: (StructType, Array[Any]) = (schema, values)

  private def key: Seq[String] = {
    val (columns, row) = ofTable
    ReplicaKey.of(columns).toSeq.flatten.map(field => s"${field.name} ${row(columns.fieldIndex(field.name))}")
  }

  /** Sets the values of a row without those of the table. */
  protected def empty(change: UTF8String): Unit = {
    java.util.Arrays.fill(values.asInstanceOf[Array[AnyRef]], null)
    describe(change)
  }

  private def describe(change: UTF8String): Unit = {
    if (changeType >= 0) values(changeType) = if (isVerifying) verifying(change) else change
    if (version >= 0) values(version) = commitVersion
    if (timestamp >= 0) values(timestamp) = part.stored.transaction.stamp
  }

  private def verifying(change: UTF8String): UTF8String =
    if (change eq Truncate) VerifyBegin
    else if ((change eq Delete) || (change eq Before)) VerifyDelete
    else if (change eq After) VerifyUpdate
    else if (change eq Insert) Verify
    else change

  private def number(ordinal: Long): Unit = {
    rowOrdinal = ordinal
    if (version >= 0) digits(ordinal)
  }

  private def digits(ordinal: Long): Unit = {
    // The value of the row before may still be in use.
    val bytes = versionBytes.clone()
    var (digit, rest) = (VersionLength - 1, ordinal)
    while (digit > 16) {
      bytes(digit) = ('0' + rest % 10).toByte
      rest /= 10
      digit -= 1
    }
    commitVersion = UTF8String.fromBytes(bytes)
  }

  private def hex(lsn: Long): Unit = {
    (0 until 16).foreach(i => versionBytes(i) = Digits(((lsn >>> (60 - 4 * i)) & 15).toInt).toByte)
    versionBytes(16) = '/'
  }

  private def reserve(bytes: Int): Array[Byte] = {
    // Texts of rows share the bytes, and a sink may keep a row for as long as the frame is read.
    if (buffer.length < bytes) buffer = new Array[Byte](bytes)
    length = bytes
    buffer
  }
}

private object CdcReader {
  val Insert: UTF8String = UTF8String.fromString("insert")
  val Delete: UTF8String = UTF8String.fromString("delete")
  val Before: UTF8String = UTF8String.fromString("update_preimage")
  val After: UTF8String = UTF8String.fromString("update_postimage")
  val Truncate: UTF8String = UTF8String.fromString("truncate")
  val Verify: UTF8String = UTF8String.fromString("verify")
  val VerifyUpdate: UTF8String = UTF8String.fromString("verify_update")
  val VerifyDelete: UTF8String = UTF8String.fromString("verify_delete")
  val VerifyBegin: UTF8String = UTF8String.fromString("verify_begin")
  val VerifyAfter: UTF8String = UTF8String.fromString("verify_after")
  val VerifyUntil: UTF8String = UTF8String.fromString("verify_until")
  val VerifyEnd: UTF8String = UTF8String.fromString("verify_end")
  val VerifyRepair: UTF8String = UTF8String.fromString("verify_repair")
  val VersionLength = 27
  val Digits = "0123456789ABCDEF"

  /** The columns of a table whose value each update has. */
  def sentColumns(columns: StructType): Set[UTF8String] =
    columns.filter(SourceColumn.of(_).exists(_.isSent)).map(field => UTF8String.fromString(field.name)).toSet
}
