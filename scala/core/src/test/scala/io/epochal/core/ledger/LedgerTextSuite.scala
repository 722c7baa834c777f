package io.epochal.core.ledger

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions

final class LedgerTextSuite extends AnyFunSuite {

  private val begun =
    LedgerRow("s", "q", Target("t", None), None, 1L, "r", ServerIdentity("here", None))
  private val applied = begun.copy(
    target = Target("t", Some(7L)),
    last = Some(AppliedEpoch(3L, TriggerMode.MicroBatch, Some("ab"), ContentDigest(10L, -1L))),
    server = ServerIdentity("here", Some(2L)))

  test("a row round-trips, before its first epoch and after") {
    Seq(begun, applied, applied.copy(last = applied.last.map(_.copy(offsetsHash = None)))).foreach { row =>
      assert(LedgerText.read(LedgerText.write(row), "here") == Right(row))
    }
  }

  test("the text of version 1 stays readable") {
    val text = """{"v":1,"sink":"s","query":"q","run":"r","generation":1,"target":"t","targetId":7,"server":"here",""" +
      """"timeline":2,"epoch":3,"trigger":"micro-batch","offsets":"ab","rows":10,"digest":"ffffffffffffffff"}"""
    assert(LedgerText.read(text, "here") == Right(applied))
    assert(LedgerText.write(applied) == text)
  }

  test("a newer version is rejected with both versions") {
    val error = LedgerText.read(LedgerText.write(begun).replace("\"v\":1", "\"v\":4711"), "here").left.toOption.get
    assert(error.condition == Conditions.LedgerVersionUnsupported)
    assert(error.values("found") == "4711" && error.values("supported") == "1")
  }

  test("a text that is not a row is quoted in the error") {
    Seq("", "{}", "[]", """{"v":1}""", LedgerText.write(applied).replace("micro-batch", "x")).foreach { text =>
      assert(LedgerText.read(text, "here").left.toOption.map(_.condition).contains(Conditions.LedgerDamaged), text)
    }
  }
}
