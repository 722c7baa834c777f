package io.epochal.cdc

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.slot.{CaptureServer, ReadyServer}
import io.epochal.core.error.{Conditions, EpochalException}

final class TableSnapshotsSuite extends AnyFunSuite {

  test("a change of a table that is no longer captured is not located by the key of another table") {
    val options = CdcOptions
      .read(Map("url" -> "jdbc:postgresql://127.0.0.1:1/none", "dbtable" -> "public.*", "retry.maxAttempts" -> "1"))
      .fold(throw _, identity)
    val tables = CdcTables(Seq(CdcTable(ReadyServer.orders, Nil)), Seq("public"), RowShape.Json)
    val plan = CapturePlan(options, new CaptureServer(options.connection, options.retry), tables, binary = false)
    val origin = CdcOrigin("s", "s", "7", timeline = 1, start = 1, snapshot = true)
    val snapshot = SnapshotState(
      rows = 100,
      stamp = 77,
      bounds = Nil,
      runs = Seq(ServerSnapshot("1000:1000:", 2000), ServerSnapshot("3000:3000:", 9000)),
      ranges = Map(0 -> RangeState(Seq(0 -> Some(Seq("50")), 1 -> None)))
    )
    val items = CapturedTable(Relation.of(2, "public", "items", 'd', Nil), Seq("id"))
    val view = new TableSnapshots(plan, origin).view(ChangeState(None, Map.empty, Map(2 -> snapshot)))
    val error =
      intercept[EpochalException](view.of(3000, 2000).get(items, Bytes(Array.emptyByteArray, 0, 0)))
    assert(error.condition == Conditions.TablesChanged && error.getMessage.contains("public.items"))
  }
}
