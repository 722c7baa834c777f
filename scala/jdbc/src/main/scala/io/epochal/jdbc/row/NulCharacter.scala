package io.epochal.jdbc.row

/** How to handle the character U+0000 in a text, which databases cannot store. */
sealed abstract class NulCharacter(val name: String, replacement: String) extends Serializable {

  /** The text to store. */
  def apply(text: String): String = text.replace("\u0000", replacement)
}

object NulCharacter {

  /** The value is a bad row. */
  case object Error extends NulCharacter("error", "\u0000")

  /** The character is removed. */
  case object Strip extends NulCharacter("strip", "")

  /** U+FFFD replaces the character. */
  case object Replace extends NulCharacter("replace", "\ufffd")

  val all: Seq[NulCharacter] = Seq(Error, Strip, Replace)
}
