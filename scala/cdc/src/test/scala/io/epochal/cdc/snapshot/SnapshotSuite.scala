package io.epochal.cdc.snapshot

import java.nio.ByteBuffer

import scala.collection.mutable

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.slot.CaptureServer
import io.epochal.cdc.value.{RowJson, ServerSuite, TypeText}
import io.epochal.cdc.{CdcOptions, CdcOrigin, CdcSetup, CdcTables}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.PostgresServer

/** Snapshots of several tables, one after the other, that die in any of them. */
final class SnapshotSuite extends ServerSuite("PostgreSQL", PostgresServer.url) {
  import SnapshotSuite._

  private lazy val made: Unit = execute(
    "CREATE TABLE orders (id int PRIMARY KEY, flag boolean, code char(4), at inet, note text)",
    "INSERT INTO orders SELECT i, i % 2 = 0, 'c' || i, ('10.0.0.' || i)::inet, NULLIF('note ' || i, 'note 3') FROM generate_series(1, 3) i",
    "CREATE TABLE empty (id int PRIMARY KEY)",
    "CREATE TABLE items (id uuid PRIMARY KEY, price numeric, tags text[])",
    "INSERT INTO items SELECT md5(i::text)::uuid, i / 8.0, ARRAY['a', 'b ' || i] FROM generate_series(1, 2) i",
    "CREATE TABLE keyless (note text)",
    "INSERT INTO keyless VALUES ('a'), ('b')"
  )

  private def setup(tables: String): (CdcSetup, CdcOrigin) = {
    made
    val options = CdcOptions
      .read(Map("url" -> connection.getMetaData.getURL, "dbtable" -> tables, "retry.maxAttempts" -> "1"))
      .fold(throw _, identity)
    val server = new CaptureServer(options.connection, options.retry)
    val found = CdcTables.find(server, options.tables)
    val origin =
      CdcOrigin("s", "s", "7", 1, start = 1000, snapshot = true, found.all.map(t => t.facts.name -> t.facts.oid).toMap)
    new CdcSetup(options, server, "checkpoint", found, binary = false, threads = 1) -> origin
  }

  /** Copies what is left, from the durable state; dies before the frame of a number. */
  private def run(tables: String, journal: Journal, deathAt: Int = Int.MaxValue): Unit = {
    val (found, origin) = setup(tables)
    var left = deathAt
    var state = journal.state
    val append = (_: Int, frame: Bytes, before: ChangeState, after: ChangeState) => {
      assert(ChangeState.read(before.toBytes).snapshotRows == journal.state.snapshotRows)
      left -= 1
      if (left == 0) throw new Death
      journal.frames += java.util.Arrays.copyOfRange(frame.array, frame.offset, frame.offset + frame.length)
      state = after
    }
    found
      .left(origin, state)
      .foreach(table => state = found.snapshot(origin, table, state, append, () => ()).run(state))
    assert(found.left(origin, state).isEmpty)
  }

  private def expected(tables: String*): Seq[(String, String)] =
    tables.flatMap(table =>
      query(s"SELECT row_to_json(x)::text FROM $table x").map(row => s"public.$table" -> row.head.toString))

  on("each table is copied once, with versions that rise from one to the next, after a death in either") {
    val all = "orders,empty,items"
    val whole = new Journal
    run(all, whole)
    assert(whole.rows.sorted == expected("orders", "items").sorted)
    assert(whole.rows.map(_._1) == whole.rows.map(_._1).sorted.reverse)
    assert(whole.ordinals == (0 until 5))
    Seq(2, whole.frames.size).foreach { death =>
      val journal = new Journal
      intercept[Death](run(all, journal, death))
      run(all, journal)
      assert(journal.rows.sorted == whole.rows.sorted, s"died at frame $death")
      assert(journal.ordinals == (0 until 5))
    }
  }

  on("a table without a key is copied at once, and not continued") {
    val journal = new Journal
    run("keyless,orders", journal)
    assert(journal.rows.sorted == expected("keyless", "orders").sorted)
    // The first table is complete.
    val resumed = new Journal
    intercept[Death](run("keyless,orders", resumed, deathAt = 2))
    run("keyless,orders", resumed)
    assert(resumed.rows.sorted == journal.rows.sorted)

    val (found, origin) = setup("keyless,orders")
    val state = ChangeState.Empty.updated(
      origin.tables("public.keyless").toInt,
      SnapshotState(1, 0, Nil, Seq(ServerSnapshot("1:1:", 0)), Map(0 -> RangeState(Seq(0 -> Some(Nil))))))
    val error = intercept[EpochalException](
      found.snapshot(origin, found.left(origin, state).head, state, (_, _, _, _) => (), () => ()))
    assert(error.condition == Conditions.SnapshotInterrupted && error.values("table") == "public.keyless")
  }
}

private object SnapshotSuite {
  final class Death extends Exception

  final class Journal {
    val frames = mutable.ArrayBuffer.empty[Array[Byte]]

    def state: ChangeState =
      frames.foldLeft(ChangeState.Empty)((found, frame) => found.after(new FrameReader(frame, frame.length)))

    def ordinals: Seq[Int] = parts.flatMap { case (_, _, part) => part.first until part.written.ordinal }

    /** Table and JSON of each row. */
    def rows: Seq[(String, String)] = parts.flatMap { case (bytes, frame, part) =>
      val in = ByteBuffer.wrap(bytes)
      Iterator
        .iterate(part.changes)(at => at + 7 + in.getInt(at + 3))
        .takeWhile(_ < part.until)
        .map { at =>
          assert(Kind.of(in.get(at)) == Kind.Insert && in.get(at + 7) == 'N')
          val relation = frame.definitions(in.getShort(at + 1).toInt)
          val json = new RowJson(
            relation.name,
            relation.columns.zip(TypeText.read(relation.types)).map { case (column, kind) =>
              (column.name, column.isKey, kind)
            })
          json.readRow(bytes, at + 8)
          relation.name -> json.after.toString
        }
        .toVector
    }

    private def parts: Seq[(Array[Byte], FrameReader, Part)] = frames.toSeq.flatMap { bytes =>
      val frame = new FrameReader(bytes, bytes.length)
      frame.parts.map((bytes, frame, _))
    }
  }
}
