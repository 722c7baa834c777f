package io.epochal.core.journal

/** The slices to read for the rows up to `until`, in order, and the gaps for missing rows. */
final case class JournalPlan(slices: Seq[Slice], gaps: Seq[Gap], until: Long) {

  /** At most `parts` groups of consecutive slices with about equal numbers of rows. Stable in the number of groups: if it
    * returned n groups, any `parts` of at least n gives the same groups.
    */
  @scala.annotation.tailrec
  def split(parts: Int): Seq[Seq[Slice]] = {
    val groups = cut(parts)
    if (groups.size < parts && groups.nonEmpty) split(groups.size) else groups
  }

  private def cut(parts: Int): Seq[Seq[Slice]] = {
    val total = slices.map(_.take.toLong).sum
    val before = slices.scanLeft(0L)(_ + _.take)
    slices
      .zip(before)
      .groupBy { case (slice, at) => (BigInt(at * 2 + slice.take) * parts / (total * 2)).toLong }
      .toSeq
      .sortBy(_._1)
      .map(_._2.map(_._1))
  }
}
