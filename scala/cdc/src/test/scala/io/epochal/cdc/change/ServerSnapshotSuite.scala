package io.epochal.cdc.change

import org.scalatest.funsuite.AnyFunSuite

final class ServerSnapshotSuite extends AnyFunSuite {

  test("a snapshot contains transactions that had ended, and none that ran or came later") {
    val snapshot = ServerSnapshot("100:105:101,103", lsn = 9000)
    val seen = (98 to 106).filter(xid => snapshot.contains(lsn = 5000, xid))
    assert(seen == Seq(98, 99, 100, 102, 104))
  }

  test("transactions whose commit was logged after the snapshot are not in it, whatever their number") {
    val snapshot = ServerSnapshot("100:105:", lsn = 9000)
    assert(snapshot.contains(lsn = 8999, xid = 99))
    assert(!snapshot.contains(lsn = 9000, xid = 99))
    // Positions are unsigned.
    assert(!snapshot.contains(lsn = -1L, xid = 99))
  }

  test("the numbers of transactions go round") {
    val snapshot = ServerSnapshot(s"${(7L << 32) - 2}:${(7L << 32) + 3}:${7L << 32}", lsn = 9000)
    val seen = Seq(-3, -2, -1, 0, 1, 2, 3, 4).filter(xid => snapshot.contains(1, xid))
    assert(seen == Seq(-3, -2, -1, 1, 2))
  }
}
