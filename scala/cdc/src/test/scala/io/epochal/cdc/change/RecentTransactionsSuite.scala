package io.epochal.cdc.change

import org.scalatest.funsuite.AnyFunSuite

final class RecentTransactionsSuite extends AnyFunSuite {

  test("the last transactions are known, and a copy does not change") {
    val recent = new RecentTransactions
    def has(of: RecentTransactions, xid: Int) = !of.forall(_ != xid)
    assert(recent.forall(_ => false))
    (1 to 70000).foreach(recent.add)
    assert(has(recent, 70000) && has(recent, 70000 - 65535) && !has(recent, 70000 - 65536))
    val copy = recent.clone()
    recent.add(-1)
    assert(has(recent, -1) && !has(copy, -1))
  }
}
