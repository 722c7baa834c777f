package io.epochal.cdc.change

/** The numbers of the last transactions that a stream has had. */
final private[cdc] class RecentTransactions private (numbers: Array[Int], private var next: Int) {
  def this() = this(new Array[Int](RecentTransactions.Size), 0)

  def add(xid: Int): Unit = {
    numbers(next) = xid
    next = (next + 1) % numbers.length
  }

  def forall(holds: Int => Boolean): Boolean = numbers.forall(xid => xid == 0 || holds(xid))

  override def clone(): RecentTransactions = new RecentTransactions(numbers.clone(), next)
}

private object RecentTransactions {

  /** Covers all commits that wait for a standby, unless so many others commit meanwhile. */
  val Size: Int = 1 << 16
}
