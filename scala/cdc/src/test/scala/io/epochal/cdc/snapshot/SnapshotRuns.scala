package io.epochal.cdc.snapshot

import java.nio.ByteBuffer

import scala.collection.mutable

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.slot.CaptureServer
import io.epochal.cdc.value.{RowJson, ServerSuite, TypeText}
import io.epochal.cdc.{CapturePlan, CdcOptions, CdcOrigin, CdcTables, TableSnapshots}

/** Snapshots that die before a frame is durable. */
abstract class SnapshotRuns(server: => Either[String, String]) extends ServerSuite("PostgreSQL", server) {
  import SnapshotRuns._

  /** Creates the tables. */
  protected def create(): Unit
  final protected lazy val created: Unit = create()

  final protected def setup(
      tables: String,
      binary: Boolean = false,
      url: => String = connection.getMetaData.getURL,
      threads: Int = 1): (TableSnapshots, CdcOrigin) = {
    created
    val options = CdcOptions
      .read(Map("url" -> url, "dbtable" -> tables, "retry.maxAttempts" -> "1"))
      .fold(throw _, identity)
    val server = new CaptureServer(options.connection, options.retry)
    val found = CdcTables.find(options)
    val origin =
      CdcOrigin("s", "s", "7", 1, start = 1000, snapshot = true, found.all.map(t => t.facts.name -> t.facts.oid).toMap)
    new TableSnapshots(CapturePlan(options, server, found, binary, threads), origin) -> origin
  }

  /** Copies what is left, from the durable state; dies before the frame of a number. */
  final protected def run(
      tables: String,
      journal: Journal,
      deathAt: Int = Int.MaxValue,
      binary: Boolean = false): Unit = {
    val (snapshots, _) = setup(tables, binary)
    var left = deathAt
    var state = journal.state
    def append(frame: ChangeFrame): Unit = {
      assert(ChangeState.read(frame.before.toBytes).snapshotRows == journal.state.snapshotRows)
      left -= 1
      if (left == 0) throw new Death
      journal.frames += frame.payload.toArray
      state = frame.after
    }
    snapshots.copy(state, append, () => ())(state = _)
    assert(snapshots.incomplete(state).isEmpty)
  }
}

private object SnapshotRuns {
  final class Death extends Exception

  final class Journal {
    val frames = mutable.ArrayBuffer.empty[Array[Byte]]

    def state: ChangeState =
      frames.foldLeft(ChangeState.Empty)((found, frame) => found.after(new FrameReader(frame, frame.length)))

    def ordinals: Seq[Long] = parts.flatMap { case (_, _, part) => part.first until part.stored.ordinal }

    /** Table and JSON of each row of several tables. */
    def rows: Seq[(String, String)] = tuples.map { case (relation, tuple) =>
      val json = new RowJson(
        relation.name,
        relation.columns.zip(TypeText.read(relation.types)).map { case (column, kind) =>
          (column.name, column.isKey, kind)
        })
      json.readRow(tuple.array, tuple.offset)
      relation.name -> json.after.toString
    }

    /** Definition and tuple of each row. */
    def tuples: Seq[(Relation, Bytes)] = parts.flatMap { case (bytes, frame, part) =>
      val in = ByteBuffer.wrap(bytes)
      Iterator
        .iterate(part.changes)(at => at + 7 + in.getInt(at + 3))
        .takeWhile(_ < part.until)
        .map { at =>
          assert(RowChange.of(in.get(at)) == RowChange.Insert && in.get(at + 7) == 'N')
          frame.definitions(in.getShort(at + 1).toInt) -> Bytes(bytes, at + 8, in.getInt(at + 3) - 1)
        }
        .toVector
    }

    private def parts: Seq[(Array[Byte], FrameReader, FrameReader.Part)] = frames.toSeq.flatMap { bytes =>
      val frame = new FrameReader(bytes, bytes.length)
      frame.parts.map((bytes, frame, _))
    }
  }
}
