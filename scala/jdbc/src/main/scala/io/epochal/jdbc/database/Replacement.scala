package io.epochal.jdbc.database

import io.epochal.core.error.Plural

/** How the rows that replace all rows of a table differ from those that it had, by their keys.
  *
  * @param equal
  *   rows that it had with the same values, bit for bit
  * @param missing
  *   rows that it did not have
  * @param extra
  *   rows that it had beside them
  * @param partial
  *   keys that are not compared, since the epoch has later changes of them, or the feed left out some values
  */
final case class Replacement(equal: Long, different: Long, missing: Long, extra: Long, partial: Long) {
  def differing: Long = different + missing + extra

  def isEqual: Boolean = Seq(different, missing, extra, partial).forall(_ == 0)

  def +(other: Replacement): Replacement = Replacement(
    equal + other.equal,
    different + other.different,
    missing + other.missing,
    extra + other.extra,
    partial + other.partial)

  override def toString: String = {
    val all = s"${Plural.of(equal, "row")} equal, $different different, $missing missing, $extra extra"
    if (partial == 0) all else s"$all, $partial not compared"
  }
}
