package io.epochal.rest.source.supply

/** Shares out what a batch may take. */
private[rest] object FairShare {

  /** Of each backlog as much as of every other, unless it has less: what is left over then goes to the others (max-min fairness).
    *
    * @param total
    *   no more than the backlogs together
    * @param first
    *   the place at which what does not divide begins to be dealt, one each
    */
  def of(total: Long, backlogs: IndexedSeq[Long], first: Int): IndexedSeq[Long] = {
    val most = level(total, backlogs)
    val shares = backlogs.map(math.min(_, most)).toArray
    val rest = total - shares.sum
    backlogs.indices
      .map(i => (first + i) % backlogs.size)
      .filter(backlogs(_) > most)
      .take(rest.toInt)
      .foreach(shares(_) += 1)
    shares.toIndexedSeq
  }

  /** The greatest share that all can have which have so much. */
  private def level(total: Long, backlogs: IndexedSeq[Long]): Long = {
    var left = total
    val sorted = backlogs.sorted
    val larger = sorted.indices.find { i =>
      val fits = sorted(i) <= left / (sorted.size - i)
      if (fits) left -= sorted(i)
      !fits
    }
    larger.fold(Long.MaxValue)(i => left / (sorted.size - i))
  }
}
