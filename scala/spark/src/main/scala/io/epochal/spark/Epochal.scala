package io.epochal.spark

import io.epochal.core.option.OptionGroup

/** What the jar tells of itself. */
object Epochal {

  /** The release, as in the jar's name. */
  val version: String = Option(getClass.getResourceAsStream("/io/epochal/version.txt"))
    .map(in => try new String(in.readAllBytes()).trim finally in.close())
    .getOrElse("unknown")

  /** The options of every format, in the order of the documentation. */
  def formats: Seq[OptionGroup] = Seq()
}
