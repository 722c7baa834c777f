package io.epochal.cdc.change

/** How far a range of the table was read.
  *
  * @param parts
  *   in the order of the keys: the number of the run, and the key of its last row, as text; None: it read to the end
  */
final private[cdc] case class RangeState(parts: Seq[(Int, Option[Seq[String]])]) {
  def isDone: Boolean = parts.lastOption.exists(_._2.isEmpty)

  /** The key of the last row that was written. */
  def last: Option[Seq[String]] = parts.lastOption.flatMap(_._2)

  /** The state after rows that a run has read, up to a key; None: to the end. */
  def after(run: Int, key: Option[Seq[String]]): RangeState = RangeState(parts.filter(_._1 != run) :+ (run -> key))
}

private[cdc] object RangeState {
  val Empty: RangeState = RangeState(Nil)
}
