package io.epochal.cdc.change

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatest.Assertions
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.cdc.change.ScriptedServer._
import io.epochal.cdc.pgoutput.Message.Change
import io.epochal.cdc.pgoutput.{Bytes, ChangeKind, OldTuple}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.support.Examples

final class ChangeIntakeSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  import ChangeIntakeSuite._

  private val statement: Gen[Statement] = for {
    id <- Gen.choose(1, 9)
    to <- Gen.choose(1, 9)
    note <- Gen.frequency(8 -> Gen.alphaNumStr.map(_.take(5)), 1 -> Gen.const("x" * 300))
    one <- Gen.oneOf(Insert(id, note), Update(id, id, note), Update(id, to, note), Delete(id), Truncate)
  } yield one

  private val transactions: Gen[List[List[Statement]]] =
    Gen.resize(12, Gen.listOf(Gen.frequency(1 -> Gen.const(Nil), 4 -> Gen.resize(8, Gen.listOf(statement)))))

  private val deaths: Gen[List[Int]] = Gen.resize(8, Gen.listOf(Gen.choose(1, 40)))

  test("every change is stored once, in commit order, after any deaths and at any frame size") {
    forAll(transactions, deaths, Gen.oneOf(1, 100, 1 << 20), minSuccessful(Examples.of(1000))) {
      (courses, deaths, frameBytes) =>
        val server = courses.zipWithIndex.map { case (statements, i) =>
          // Times of commit go back now and then.
          Committed(1000L + 100L * i, 700 + i, 1000000L * (i % 7), statements)
        }
        val journal = new MemoryJournal
        deaths.foreach(messages => run(server, journal, frameBytes, messages))
        run(server, journal, frameBytes, Int.MaxValue)

        val expected = for {
          transaction <- server
          (change, ordinal) <- ordinals(transaction.statements)
        } yield (transaction.lsn, ordinal, change)
        assert(journal.changes == expected)
        val stamps = journal.stamps
        assert(stamps == stamps.sorted)
        assert(stamps.distinct.size == server.count(_.statements.nonEmpty))
    }
  }

  test("a server that sends another transaction first than the last one received was restored or moved") {
    val server = Seq(1, 2, 3).map(i => Committed(i * 100L, i, i.toLong, Seq(Insert(i, ""))))
    val journal = new MemoryJournal
    run(server, journal, 1 << 20, Int.MaxValue)
    def refused(restored: Seq[Committed]) = moved(run(restored, journal, 1 << 20, Int.MaxValue))
    // The slot was moved; another transaction is in the place of the last; a copy of the database has gone on by itself.
    refused(server.take(2) :+ Committed(400, 4, 4, Seq(Insert(4, ""))))
    refused(server.take(2) :+ Committed(300, 9, 3, Seq(Insert(3, ""))))
    refused(server.take(2) :+ Committed(300, 3, 9, Seq(Insert(3, ""))))
    assert(journal.changes.size == 3)
  }

  test("a partly stored transaction must be sent again unchanged") {
    val server = Seq(Committed(100, 1, 1, Seq(Insert(1, "a"), Insert(2, "b"), Insert(3, "c"))))
    val journal = new MemoryJournal
    run(server, journal, frameBytes = 1, messages = 4)
    assert(journal.changes.map(_._3) == Seq(Insert(1, "a"), Insert(2, "b")))
    val other = Seq(Committed(100, 1, 1, Seq(Insert(1, "a"), Insert(2, "B"), Insert(3, "c"))))
    moved(run(other, journal, frameBytes = 1, Int.MaxValue))
  }

  test("transactions without rows are remembered outside of the journal") {
    val journal = new MemoryJournal
    val server = Seq(Committed(100, 1, 1, Seq(Insert(1, ""))), Committed(200, 2, 2, Nil), Committed(300, 3, 3, Nil))
    run(server, journal, 1 << 20, Int.MaxValue)
    assert(journal.confirmed == 300)
    moved(run(server.take(2) :+ Committed(300, 4, 3, Nil), journal, 1 << 20, Int.MaxValue))
    run(server :+ Committed(400, 4, 4, Seq(Insert(2, ""))), journal, 1 << 20, Int.MaxValue)
    assert(journal.changes.map(_._1) == Seq(100L, 400L))
  }

  test("an update moves a row if it sends another value of the key, and not if it leaves the key's value out") {
    def tuple(values: String*) = {
      val out = java.nio.ByteBuffer.allocate(100).putShort(values.size.toShort)
      values.foreach {
        case "u"  => out.put('u'.toByte)
        case text => out.put('t'.toByte).putInt(text.length).put(text.getBytes)
      }
      Bytes(out.array, 0, out.position())
    }
    def kind(preimages: Boolean, after: Bytes) = new ChangeRules(preimages, OnTruncate.Emit)
      .rowChange(Seq(0), Change(ChangeKind.Update, 1, Some(OldTuple(whole = true, tuple("key", "old"))), Some(after)))
    assert(kind(preimages = false, tuple("other", "new")) == RowChange.NewKey)
    assert(kind(preimages = false, tuple("key", "new")) == RowChange.Update)
    assert(kind(preimages = false, tuple("u", "new")) == RowChange.Update)
    assert(kind(preimages = true, tuple("other", "new")) == RowChange.NewKey)
    assert(kind(preimages = true, tuple("key", "new")) == RowChange.BothImages)
  }

  /** The server's transactions from the confirmed one on, until the run dies after so many messages. */
  private def run(server: Seq[Committed], journal: MemoryJournal, frameBytes: Int, messages: Int): Unit = {
    val rules = new ChangeRules(preimages = false, OnTruncate.Emit)
    val intake = new ChangeIntake(journal.state, rules, (_, _) => None, "orders", "server", frameBytes)
    val rest = server.filter(_.lsn >= journal.confirmed)
    val all = rest.zipWithIndex.flatMap { case (transaction, i) =>
      ScriptedServer.messages(transaction, rest.take(i).forall(_.statements.isEmpty))
    }
    all.take(messages).foreach { message =>
      // The bytes are valid until the next message only.
      val copy = message.clone()
      read(intake, copy).foreach(journal.append)
      java.util.Arrays.fill(copy, 0.toByte)
    }
    if (messages > all.size) {
      intake.flush().foreach(journal.append)
      intake.settle().foreach(journal.mark)
    }
  }

  private def moved(body: => Unit): Unit =
    assert(intercept[EpochalException](body).condition == Conditions.SlotMoved)

  /** Each change with its ordinal; one of the key is two. */
  private def ordinals(statements: Seq[Statement]): Seq[(Statement, Long)] =
    statements.zip(statements.scanLeft(0L) {
      case (at, Update(from, id, _)) if from != id => at + 2
      case (at, _)                                 => at + 1
    })
}

private object ChangeIntakeSuite {

  /** The durable state: frames and the last transaction. */
  final class MemoryJournal extends Assertions {
    private val frames = mutable.ArrayBuffer.empty[Array[Byte]]
    private var last = Option.empty[CommittedTransaction]
    var confirmed = 0L

    def append(frame: ChangeFrame): Unit = {
      val before = ChangeState.read(frame.before.toBytes)
      val durable = state
      assert(before.last == durable.last && before.runs == durable.runs)
      frames += frame.payload.toArray
      val reader = new FrameReader(frames.last, frames.last.length)
      assert(reader.parts.map(_.rows).sum == frame.rows)
      val after = durable.after(reader)
      assert(frame.after.last == after.last)
      confirmed = after.last.fold(0L)(_.transaction.lsn)
    }

    def mark(transaction: CommittedTransaction): Unit = {
      last = Some(transaction)
      confirmed = transaction.lsn
    }

    def state: ChangeState = frames
      .foldLeft(ChangeState.Empty)((found, frame) => found.after(new FrameReader(frame, frame.length)))
      .after(last)

    def stamps: Seq[Long] = parts.map(_._2.stored.transaction.stamp)

    /** LSN, ordinal and statement of each change. */
    def changes: Seq[(Long, Long, Statement)] = parts.flatMap { case (frame, part) =>
      var ordinal = part.first
      Decoded.changes(frame, part).map { case (kind, statement) =>
        val at = ordinal
        ordinal += kind.ordinals
        (part.stored.transaction.lsn, at, statement)
      }
    }

    private def parts: Seq[(Array[Byte], FrameReader.Part)] =
      frames.toSeq.flatMap(frame => new FrameReader(frame, frame.length).parts.map(frame -> _))
  }

  private object Decoded {
    def changes(frame: Array[Byte], part: FrameReader.Part): Seq[(RowChange, Statement)] = {
      val in = java.nio.ByteBuffer.wrap(frame)
      val found = Seq.newBuilder[(RowChange, Statement)]
      var at = part.changes
      while (at < part.until) {
        val kind = RowChange.of(in.get(at))
        val length = in.getInt(at + 3)
        val tuples = rows(frame, at + 7, at + 7 + length)
        val statement = (kind, tuples) match {
          case (RowChange.Insert, Seq(('N', Seq(id, note))))                      => Insert(id.toInt, note)
          case (RowChange.Update, Seq(('N', Seq(id, note))))                      => Update(id.toInt, id.toInt, note)
          case (RowChange.NewKey, Seq(('K', Seq(from, _)), ('N', Seq(id, note)))) => Update(from.toInt, id.toInt, note)
          case (RowChange.Delete, Seq(('K', Seq(id, _))))                         => Delete(id.toInt)
          case (RowChange.Truncate, Seq())                                        => Truncate
          case other => throw new AssertionError(other.toString)
        }
        found += kind -> statement
        at += 7 + length
      }
      found.result()
    }

    private def rows(frame: Array[Byte], from: Int, until: Int): Seq[(Char, Seq[String])] = {
      val in = java.nio.ByteBuffer.wrap(frame, from, until - from)
      val found = Seq.newBuilder[(Char, Seq[String])]
      while (in.hasRemaining) {
        val kind = in.get().toChar
        val tuple = Bytes(frame, in.position(), until - in.position())
        val count = in.getShort().toInt
        val values = (0 until count).map { column =>
          val value = TupleValue.of(tuple, column)
          if (value.kind == 'n') null else new String(value.bytes.array, value.bytes.offset, value.bytes.length)
        }
        (0 until count).foreach { _ =>
          if (in.get() == 't') in.position(in.getInt() + in.position()): Unit
        }
        found += kind -> values
      }
      found.result()
    }
  }
}
