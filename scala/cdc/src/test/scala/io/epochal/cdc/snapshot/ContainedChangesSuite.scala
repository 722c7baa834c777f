package io.epochal.cdc.snapshot

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.change.ScriptedServer._
import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.{Bytes, Message}
import io.epochal.core.error.{Conditions, EpochalException}

/** Changes while the rows of a table were read in two snapshots of the server: ids up to 50 in the first, the others in the second. */
final class ContainedChangesSuite extends AnyFunSuite {
  private val snapshot = SnapshotState(
    rows = 100,
    stamp = 77,
    bounds = Nil,
    runs = Seq(ServerSnapshot("1000:1000:", 2000), ServerSnapshot("3000:3000:", 9000)),
    ranges = Map(0 -> RangeState(Seq(0 -> Some(Seq("50")), 1 -> None)))
  )

  /** Statements that are delivered of transactions, and the number of questions to the server. */
  private def delivered(transactions: Seq[Committed], frameBytes: Int, flushEvery: Int): (Seq[String], Int) = {
    var asked = 0
    val locate = (_: CapturedTable, rows: Seq[Bytes], bounds: Seq[Seq[String]]) => {
      asked += 1
      assert(bounds == Seq(Seq("50")))
      rows.map(row => if (text(row, 0).toInt <= 50) 0 else 1)
    }
    val found = mutable.ArrayBuffer.empty[String]
    def append(frame: ChangeFrame): Unit = {
      val Bytes(array, _, length) = frame.payload
      val in = java.nio.ByteBuffer.wrap(array, 0, length)
      new FrameReader(array, length).parts.foreach { part =>
        Iterator.iterate(part.changes)(at => at + 7 + in.getInt(at + 3)).takeWhile(_ < part.until).foreach { at =>
          val tuple = Bytes(array, at + 8, in.getInt(at + 3) - 1)
          found += s"${in.get(at).toChar}${text(tuple, 0)}"
        }
      }
    }
    val intake = this.intake(locate, frameBytes)
    transactions.zipWithIndex.foreach { case (transaction, i) =>
      messages(transaction, defines = i == 0).foreach { message =>
        val copy = message.clone()
        read(intake, copy).foreach(append)
        java.util.Arrays.fill(copy, 0.toByte)
      }
      if ((i + 1) % flushEvery == 0) intake.flush().foreach(append)
    }
    intake.flush().foreach(append)
    assert(!intake.hasRows)
    (found.toSeq, asked)
  }

  private lazy val orders: CapturedTable = Message.read(relation, 0, relation.length) match {
    case found: Relation => CapturedTable(found, Seq("id"))
    case other           => fail(other.toString)
  }

  private def intake(
      locate: (CapturedTable, Seq[Bytes], Seq[Seq[String]]) => Seq[Int],
      frameBytes: Int = 1 << 20,
      definitions: Map[Int, Relation] = Map.empty): ChangeIntake = new ChangeIntake(
    ChangeState(None, definitions, Map(SnapshotState.OnlyTable -> snapshot)),
    new ChangeRules(preimages = false, OnTruncate.Emit),
    new ContainedChanges(snapshot, locate),
    "orders",
    "server",
    frameBytes
  )

  private def text(tuple: Bytes, column: Int): String = {
    val Bytes(array, offset, length) = TupleValue.of(tuple, column).bytes
    new String(array, offset, length)
  }

  /** Inserts in small transactions: before both snapshots, between them, and after both. */
  private val transactions = (1 to 300).map { i =>
    val id = i * 7 % 100
    Committed(
      1000L + 5 * i,
      if (i <= 100) 500 + i else if (i <= 200) 2000 + i else 5000 + i,
      i.toLong,
      Seq(Insert(id, "")))
  }
  private val expected = transactions.flatMap { case Committed(_, xid, _, statements) =>
    statements.collect { case Insert(id, _) if xid > 3000 || xid > 1000 && id <= 50 => s"I$id" }
  }

  test("a change is delivered unless the snapshot that read its row shows it; one question for many transactions") {
    assert(expected.size > 120)
    Seq((1 << 20, 1000), (1000, 1000), (1 << 20, 7), (1, 1)).foreach { case (frameBytes, flushEvery) =>
      val (found, asked) = delivered(transactions, frameBytes, flushEvery)
      assert(found == expected)
      if (frameBytes == 1 << 20 && flushEvery == 1000) assert(asked == 1)
      assert(asked <= 100)
    }
  }

  test("an update that moves a row between the parts is an insert or a delete; one within a part is shown or not") {
    val (found, asked) = delivered(
      Seq(
        Committed(3000, 2000, 1, Seq(Update(1, 99, ""), Update(98, 2, ""), Update(3, 4, ""), Update(97, 96, ""))),
        Committed(3100, 2001, 2, Seq(Update(5, 5, ""), Update(95, 95, ""), Delete(6), Delete(94)))),
      1 << 20,
      1000
    )
    assert(found == Seq("D1", "I2", "K3", "U5", "D6") && asked == 1)
  }

  test("a TRUNCATE is none if all rows were read after it, is refused if some were, and is one if none was") {
    val changes = new ContainedChanges(snapshot, (_, _, _) => throw new IllegalStateException("no row is located"))
    assert(changes.containsTruncate(orders, 1500, 500))
    assert(!changes.containsTruncate(orders, 9500, 500) && !changes.containsTruncate(orders, 1500, 5000))
    val error = intercept[EpochalException](changes.containsTruncate(orders, 3000, 2000))
    assert(error.condition == Conditions.TableTruncated)
  }

  test(
    "a transaction without rows from before a snapshot is not the last one: the journal may lack the snapshot's end") {
    val changes = intake((_, _, _) => Nil)
    def settled(lsn: Long): Option[Long] = {
      messages(Committed(lsn, 9999, 1, Nil), defines = false).foreach(read(changes, _))
      assert(changes.flush().isEmpty)
      changes.settle().map(_.lsn)
    }
    assert(settled(8999).isEmpty)
    assert(settled(9000).contains(9000L))
  }

  test("a range without rows was read by the last run") {
    val state = snapshot.copy(bounds = Seq(Seq("50")), ranges = Map(0 -> RangeState(Seq(0 -> None))))
    val shown = Seq(0, 1).map { part =>
      val changes = new ContainedChanges(state, (_, rows, _) => rows.map(_ => part))
      changes.of(3000, 2000).map(_(orders, Bytes(Array.emptyByteArray, 0, 0)))
    }
    assert(shown == Seq(Some(false), Some(true)))
  }

  test(
    "the first changes have the state of the snapshot, whose last ranges may have had no rows, and later timestamps") {
    val changes = intake((_, _, _) => Nil)
    val notes = Seq(9001L, 9002L).flatMap { lsn =>
      messages(Committed(lsn, 9999, 1, Seq(Insert(1, ""))), defines = lsn == 9001).foreach(read(changes, _))
      changes.flush().map { frame =>
        val after = ChangeState.Empty.after(new FrameReader(frame.payload.array, frame.payload.length))
        after.snapshots.get(SnapshotState.OnlyTable) -> after.last.fold(0L)(_.transaction.stamp)
      }
    }
    assert(
      notes.map(_._1.map(state => state.runs -> state.ranges)) == Seq(Some(snapshot.runs -> snapshot.ranges), None))
    assert(notes.map(_._2) == Seq(77, 78))
  }

  test("a table's definition from before the snapshots is not compared with theirs, a later one is") {
    Seq(8999L -> None, 9000L -> Some(orders.relation)).foreach { case (lsn, expected) =>
      val changes = intake((_, rows, _) => rows.map(_ => 0), definitions = Map(Orders -> orders.relation))
      read(changes, messages(Committed(lsn, 9999, 1, Seq(Insert(1, ""))), defines = true).head): Unit
      assert(changes.definition(Orders) == expected)
    }
  }
}
