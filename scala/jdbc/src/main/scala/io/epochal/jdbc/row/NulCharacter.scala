package io.epochal.jdbc.row

/** What becomes of the character U+0000 in a text, which databases cannot keep. */
sealed abstract class NulCharacter(val name: String) extends Serializable {

  /** The bytes to be stored in its place. */
  def replacement: Array[Byte]

  def apply(text: String): String
}

object NulCharacter {

  /** The value is a bad row. */
  case object Error extends NulCharacter("error") {
    override val replacement: Array[Byte] = Array.emptyByteArray
    override def apply(text: String): String = text
  }

  /** It is left out. */
  case object Strip extends NulCharacter("strip") {
    override val replacement: Array[Byte] = Array.emptyByteArray
    override def apply(text: String): String = text.replace("\u0000", "")
  }

  /** U+FFFD stands in its place. */
  case object Replace extends NulCharacter("replace") {
    override val replacement: Array[Byte] = "\ufffd".getBytes("UTF-8")
    override def apply(text: String): String = text.replace('\u0000', '\ufffd')
  }

  val all: Seq[NulCharacter] = Seq(Error, Strip, Replace)
}
