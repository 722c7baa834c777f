package io.epochal.cdc.change

import org.scalatest.funsuite.AnyFunSuite

final class RecentTransactionsSuite extends AnyFunSuite {

  test("the last transactions are known, and a copy does not change") {
    val recent = new RecentTransactions
    assert(!recent.contains(1))
    (1 to 70000).foreach(recent.add)
    assert(recent.contains(70000) && recent.contains(70000 - 65535) && !recent.contains(70000 - 65536))
    val copy = recent.clone()
    recent.add(-1)
    assert(recent.contains(-1) && !copy.contains(-1))
  }
}
