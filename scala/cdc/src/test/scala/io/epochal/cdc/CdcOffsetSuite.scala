package io.epochal.cdc

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.change.{ChangeState, RangeState, ServerSnapshot, SnapshotState}

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
}
