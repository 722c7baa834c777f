package io.epochal.random

import java.nio.charset.StandardCharsets.UTF_8

/** Random string for each id: a pure function of seed, id, lengths and alphabet.
  *
  * The random words come from SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). Its only
  * state is a counter, so each id has its own words.
  */
final case class RandomStrings(seed: Long, minLength: Int, maxLength: Int, alphabet: String) {
  import RandomStrings._

  /** The alphabet's characters (code points) in UTF-8. */
  private val characters: Array[Array[Byte]] =
    alphabet.codePoints.toArray.map(c => new String(Character.toChars(c)).getBytes(UTF_8))

  /** The characters as single bytes; null if one is longer. */
  private val ascii: Array[Byte] = if (characters.forall(_.length == 1)) characters.map(_.head) else null

  /** Maximum bytes of a string. */
  val maxBytes: Int = Math.multiplyExact(maxLength, characters.map(_.length).max)

  /** Generator state for an id: the argument of `length` and `write`. */
  def start(id: Long): Long = mix(seed ^ mix(id + Gamma))

  /** Length of the string in characters. */
  def length(start: Long): Int = minLength + below(start, maxLength - minLength + 1)

  /** Writes the string in UTF-8.
    *
    * @param length
    *   its length in characters, from `length(start)`
    * @return
    *   its length in bytes
    */
  def write(start: Long, length: Int, into: Array[Byte], offset: Int): Int = {
    var state = start
    var end = offset
    var i = 0
    while (i < length) {
      state += Gamma
      val word = mix(state)
      end = append(word, into, end)
      i += 1
      if (i < length) { // A word has two halves.
        end = append(word << 32, into, end)
        i += 1
      }
    }
    end - offset
  }

  private def append(word: Long, into: Array[Byte], end: Int): Int =
    if (ascii != null) {
      into(end) = ascii(below(word, ascii.length))
      end + 1
    } else {
      val character = characters(below(word, characters.length))
      System.arraycopy(character, 0, into, end, character.length)
      end + character.length
    }
}

object RandomStrings {
  private val Gamma = 0x9e3779b97f4a7c15L

  /** SplitMix64's finalizer. */
  private def mix(state: Long): Long = {
    val a = (state ^ (state >>> 30)) * 0xbf58476d1ce4e5b9L
    val b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL
    b ^ (b >>> 31)
  }

  /** A number in [0, bound) from the upper half of a word, without a division. */
  private def below(word: Long, bound: Int): Int = (((word >>> 32) * bound) >>> 32).toInt
}
