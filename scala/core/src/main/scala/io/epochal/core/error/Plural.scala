package io.epochal.core.error

/** Counts of things in a message. */
object Plural {

  /** `1 record`, `2 records` */
  def of(count: Long, noun: String): String = s"$count $noun${if (count == 1) "" else "s"}"
}
