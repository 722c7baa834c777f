package io.epochal.kit.database

import java.util.Locale

/** A name as the user wrote it.
  *
  * @param quoted
  *   written in double quotes, so that it must match exactly
  */
final case class NamePart(text: String, quoted: Boolean) {

  /** The names that it may stand for, the most likely first. */
  def spellings: Seq[String] = if (quoted) Seq(text) else Seq(text, text.toLowerCase(Locale.ROOT)).distinct
}
