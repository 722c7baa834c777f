package io.epochal.jdbc.row

import org.apache.spark.unsafe.types.UTF8String

/** Converts texts to the form to be stored. Copies only those with a NUL character.
  *
  * @param characters
  *   those that can be stored; null: all
  */
final private[jdbc] class StoredText(nul: NulCharacter, characters: CharacterSet = null) extends TextReference {

  /** Why the text cannot be stored; null if it can. */
  def take(base: AnyRef, address: Long, length: Int): String = {
    point(base, address, length)
    if (Texts.isPlain(base, address, length) && (characters == null || characters.hasAscii)) null else inspect()
  }

  private def inspect(): String = {
    val first = Texts.indexOfNul(base, address, length)
    if (first >= 0 && nul == NulCharacter.Error) Texts.nulAt(first)
    else {
      val problem = Texts.encoding(base, address, length)
      if (problem == null && first >= 0) pointTo(nul(UTF8String.fromAddress(base, address, length).toString))
      if (problem == null && characters != null) characters.problem(this.base, this.address, this.length) else problem
    }
  }
}
