package io.epochal.core.journal.acknowledged

/** The state of a journal in the files of earlier runs.
  *
  * @param segments
  *   those with rows, in row order. The last frame may have been written but not synced
  * @param barriers
  *   files that close a run (A11)
  * @param contents
  *   of the newest files, as far as memory allows, so that `restore` need not read them again
  */
final private[acknowledged] case class Recovered(
    segments: Vector[SegmentIndex],
    barriers: Set[String],
    contents: Map[String, Array[Byte]])
