package io.epochal.core.journal

/** An earlier run that may still write.
  *
  * @param isConditional
  *   as in [[Generation]]
  */
final private[epochal] case class EarlierRun(generation: Long, run: String, isConditional: Boolean)
