package io.epochal.cdc.value

import org.postgresql.util.ByteConverter

/** PostgreSQL's numeric in binary form: decimal digits in groups of four.
  *
  * {{{
  *   int16 groups, int16 weight (groups before the point, less one), int16 sign or special value, int16 digits after the
  *   point, then the groups, the highest first: each an int16 from 0 to 9999
  * }}}
  *
  * The first and last group are not 0.
  */
private object NumericFormat {
  final val Header = 8
  final val Negative = 0x4000
  final private val NaN = 0xc000
  final private val Infinity = 0xd000
  final private val NegativeInfinity = 0xf000

  def groups(bytes: Array[Byte], offset: Int): Int = ByteConverter.int2(bytes, offset).toInt
  def weight(bytes: Array[Byte], offset: Int): Int = ByteConverter.int2(bytes, offset + 2).toInt
  def sign(bytes: Array[Byte], offset: Int): Int = ByteConverter.int2(bytes, offset + 4) & 0xffff
  def scale(bytes: Array[Byte], offset: Int): Int = ByteConverter.int2(bytes, offset + 6).toInt

  /** A group by its place; 0 for those that are left out. */
  def group(bytes: Array[Byte], offset: Int, index: Int): Int =
    if (index < 0 || index >= groups(bytes, offset)) 0 else ByteConverter.int2(bytes, offset + Header + 2 * index).toInt

  /** The name of a value that is not a number; null for a number. */
  def special(sign: Int): String = sign match {
    case NaN              => "NaN"
    case Infinity         => "Infinity"
    case NegativeInfinity => "-Infinity"
    case _                => null
  }
}
