package io.epochal.cdc

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.slot.{ReadyServer, Server, ServerFacts, SlotFacts}
import io.epochal.core.error.{Condition, Conditions}

/** A checkpoint with changes up to 0/32 of the slot `orders`, on servers with other facts. */
final class ResumeCheckSuite extends AnyFunSuite {
  private val origin =
    CdcOrigin("orders", "orders", "7", timeline = 1, start = 10, snapshot = false, isWatched = true)
  private val position = 50L
  private val ready = ReadyServer.facts.copy(
    slot = Some(ReadyServer.slot.copy(confirmed = Some(position))),
    publication = Some(ReadyServer.publication))

  private def server(change: Server => Server): ServerFacts => ServerFacts =
    facts => facts.copy(server = change(facts.server))
  private def slot(change: SlotFacts => SlotFacts): ServerFacts => ServerFacts =
    facts => facts.copy(slot = facts.slot.map(change))
  private val dropped: ServerFacts => ServerFacts = _.copy(slot = None)
  private val promoted: ServerFacts => ServerFacts =
    server(_.copy(timeline = 2)).andThen(slot(_.copy(failover = true, isSynced = true)))

  private def refusal(facts: ServerFacts, from: CdcOrigin = origin): Option[(Condition, String)] =
    ResumeCheck.refusal(from, position, facts, "server").map(error => error.condition -> error.problem)

  Seq[(String, ServerFacts => ServerFacts)](
    "the same server" -> identity,
    "a log that ends with the checkpoint" -> server(_.copy(end = position)),
    "a standby whose log ends earlier after its restart" -> server(_.copy(isStandby = true, end = 40)),
    "a promoted standby with the slot of its primary" -> promoted,
    "a slot that has confirmed less than the checkpoint has" -> slot(_.copy(confirmed = Some(20))),
    "a slot that has confirmed nothing" -> slot(_.copy(confirmed = None))
  ).foreach { case (name, change) => test(s"$name is read on")(assert(refusal(change(ready)).isEmpty)) }

  Seq[(String, ServerFacts => ServerFacts, Condition, String)](
    (
      "another cluster",
      server(_.copy(systemId = "8")),
      Conditions.ServerChanged,
      "another system identifier, 8 instead of 7"),
    (
      "another cluster, even without the slot",
      server(_.copy(systemId = "8")).andThen(dropped),
      Conditions.ServerChanged,
      "another system identifier"),
    (
      "another timeline with a slot that is not of the primary",
      promoted.andThen(slot(_.copy(isSynced = false))),
      Conditions.ServerChanged,
      "another timeline, 2 instead of 1"),
    ("another timeline without the slot", promoted.andThen(dropped), Conditions.ServerChanged, "no slot orders"),
    ("a slot that was dropped", dropped, Conditions.SlotLost, "does not exist"),
    ("a lost slot", slot(_.copy(status = "lost")), Conditions.SlotLost, "was invalidated"),
    (
      "an invalidated slot",
      slot(_.copy(invalidation = Some("wal_removed"))),
      Conditions.SlotLost,
      "was invalidated (wal_removed)"),
    (
      "a restored older copy",
      server(_.copy(end = 49)),
      Conditions.ServerChanged,
      "a log up to 0/31, before the 0/32 of the checkpoint"),
    // Positions are unsigned.
    ("a log of another age", server(_.copy(end = 0)), Conditions.ServerChanged, "a log up to 0/0"),
    (
      "a slot that was moved",
      slot(_.copy(confirmed = Some(51))),
      Conditions.SlotLost,
      "was moved to 0/33, beyond the 0/32 of the checkpoint"),
    (
      "a slot that was moved beyond the highest signed position",
      slot(_.copy(confirmed = Some(-1))),
      Conditions.SlotLost,
      "was moved to FFFFFFFF/FFFFFFFF"),
    (
      "a publication that was dropped",
      _.copy(publication = None),
      Conditions.CaptureChanged,
      "the publication orders was dropped")
  ).foreach { case (name, change, condition, text) =>
    test(s"$name is refused: $condition") {
      val found = refusal(change(ready))
      assert(found.exists { case (of, problem) => of == condition && problem.contains(text) }, found)
    }
  }

  test("a checkpoint of an older release has no publication of its own") {
    assert(refusal(ready.copy(publication = None), origin.copy(isWatched = false)).isEmpty)
  }

  test("a query begins with the slot, now, or at a position that the slot has") {
    assert(CdcStart.Initial.position(slot = 5, latest = 9) == Right(5))
    assert(CdcStart.Latest.position(slot = 5, latest = 9) == Right(9))
    assert(CdcStart.At(7).position(slot = 5, latest = 9) == Right(7))
    assert(CdcStart.At(-1).position(slot = 5, latest = 9) == Right(-1))
    assert(CdcStart.At(4).position(slot = 5, latest = 9) == Left("begins at 0/5, after 0/4"))
    assert(CdcStart.At(5).position(slot = -1, latest = 9) == Left("begins at FFFFFFFF/FFFFFFFF, after 0/5"))
    // A standby does not have the position from which others begin.
    assert(CdcStart.At(7).position(slot = 5, latest = fail("not needed")) == Right(7))
  }
}
