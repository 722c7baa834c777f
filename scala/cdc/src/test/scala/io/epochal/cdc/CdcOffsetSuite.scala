package io.epochal.cdc

import java.util.HexFormat
import java.util.zip.CRC32C

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation

/** The texts of offsets and of the journal's state: those of one table stay as they were. */
final class CdcOffsetSuite extends AnyFunSuite {
  private val origin = CdcOrigin("shop", "shop", "7", timeline = 1, start = 0x16b3748L, snapshot = true)
  private val json =
    """{"v":1,"format":"epochal-cdc","source":"s","row":5,"slot":"shop","publication":"shop","system":"7",""" +
      """"timeline":1,"start":"0/16B3748","snapshot":true}"""

  test("an offset of one table has no tables") {
    assert(CdcOffset.toJson("s", CdcPosition(5, origin)) == json)
    assert(CdcOffset.fromJson("s", json) == Right(CdcPosition(5, origin)))
  }

  test("an offset of one table has its name and OID since they are kept") {
    val kept = CdcPosition(5, origin.copy(table = Some("public.a" -> 4294967295L)))
    val written = CdcOffset.toJson("s", kept)
    assert(written == json.dropRight(1) + ""","table":{"name":"public.a","oid":4294967295}}""")
    assert(CdcOffset.fromJson("s", written) == Right(kept))
  }

  test("an offset of several tables has those of the first start") {
    val several =
      CdcPosition(5, origin.copy(tables = Map("public.b" -> 9L, "public.a" -> 4294967295L), newTables = Some(7)))
    val written = CdcOffset.toJson("s", several)
    assert(written == json.dropRight(1) + ""","tables":{"public.a":4294967295,"public.b":9},"newTables":7}""")
    assert(CdcOffset.fromJson("s", written) == Right(several))
  }

  private val snapshot =
    SnapshotState(3, 9, Seq(Seq("5")), Seq(ServerSnapshot("1:2:", 8)), Map(0 -> RangeState(Seq(0 -> Some(Seq("4"))))))
  private val text =
    """"rows":3,"stamp":9,"bounds":[["5"]],"runs":[{"snapshot":"1:2:","lsn":8}],""" +
      """"ranges":[{"range":0,"parts":[{"run":0,"key":["4"]}]}]"""

  test("the state of one table's snapshot stands alone, that of several beside their OIDs") {
    val one = Map(SnapshotState.OnlyTable -> snapshot)
    assert(SnapshotState.note(one) == s"{$text}")
    assert(SnapshotState.readNote(s"{$text}") == one)
    val state = s"""{"v":1,"snapshot":{$text},"definitions":[]}"""
    assert(new String(ChangeState.Empty.copy(snapshots = one).toBytes) == state)
    assert(ChangeState.read(state.getBytes).snapshots == one)

    val several = Map(-5 -> snapshot, 9 -> snapshot.copy(rows = 4))
    assert(SnapshotState.readNote(SnapshotState.note(several)) == several)
    assert(ChangeState.read(ChangeState.Empty.copy(snapshots = several).toBytes).snapshots == several)
  }

  test("more rows than an Int counts keep their numbers in the state and in frames") {
    val rows = 5000000000L
    val state = ChangeState.Empty.copy(snapshots = Map(SnapshotState.OnlyTable -> snapshot.copy(rows = rows)))
    assert(ChangeState.read(state.toBytes).snapshotRows == rows)

    val builder = new FrameBuilder
    builder.begin(CommittedTransaction(7, 0, 1, 2), 0, new CRC32C)
    builder.add(RowChange.Insert, relation, None, Some(Bytes(Array[Byte](0, 0), 0, 2)))
    builder.end(complete = true): Unit
    builder.shift(rows)
    val frame = builder.frame(ChangeState.Empty, SnapshotState.note(state.snapshots))
    val Seq(part) = new FrameReader(frame.payload.array, frame.payload.length).parts.toSeq
    assert(part.first == rows && part.stored.ordinal == rows + 1)
    assert(frame.after.snapshotRows == rows + 1)
  }

  test("frames of version 1 stay readable") {
    // One insert of a snapshot, whose row is number 4, as the first release wrote it.
    val frame = HexFormat.of.parseHex(
      "01" + "00000044" + "0000005e" + "0000000000000007" + "00000000" + "0000000000000001" + "0000000000000002" +
        "00000003" + "00000004" + "00000001" + "0badcafe" + "01" + "0000000a" +
        "49" + "0000" + "00000003" + "4e0000" +
        "00000016" + "5200000009" + "7075626c696300" + "6f726465727300" + "64" + "0000")
    val reader = new FrameReader(frame, frame.length)
    val Seq(part) = reader.parts.toSeq
    assert(
      part == FrameReader
        .Part(StoredTransaction(CommittedTransaction(7, 0, 1, 2), 4, 0x0badcafe, isComplete = true), 3, 1, 9 + 49, 10))
    assert(reader.definitions.map(_.name) == Seq("public.orders"))
  }

  private def relation = Relation.of(9, "public", "orders", 'd', Nil)
}
