package io.epochal.spark.sink.jdbc.postgres

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.spark.seam.{UnsafeRow, UnsafeRows}
import io.epochal.spark.sink.jdbc.{BadValue, BoundColumn, ChunkedBytes, Texts}

/** Writes one column's values in the binary form of its PostgreSQL type, with the length before them.
  *
  * What the server would refuse for the whole epoch, or would store changed, is refused here, where the row is known (K9).
  */
abstract private[postgres] class CopyColumn(bound: BoundColumn) {
  final val ordinal: Int = bound.ordinal
  final val required: Boolean = bound.required

  /** The value is not NULL. */
  def encode(row: UnsafeRow, out: ChunkedBytes): Unit

  final protected def refuse(reason: String): Nothing = throw new BadValue(ordinal, reason)
}

private[postgres] object CopyColumn {

  def apply(bound: BoundColumn): CopyColumn = {
    val to = bound.column.columnType.asInstanceOf[PostgresType]
    (bound.field.dataType, to.name) match {
      case (BooleanType, _)                                                 => new Bool(bound)
      case (from @ (ByteType | ShortType | IntegerType | LongType), "int2") => new Int2(bound, Integral(from))
      case (from @ (ByteType | ShortType | IntegerType | LongType), "int4") => new Int4(bound, Integral(from))
      case (from @ (ByteType | ShortType | IntegerType | LongType), "int8") => new Int8(bound, Integral(from))
      case (from @ (ByteType | ShortType | IntegerType | LongType), "float4") =>
        val read = Integral(from)
        new Float4(bound, (row, i) => read(row, i).toFloat)
      case (from @ (ByteType | ShortType | IntegerType | LongType), "float8") =>
        val read = Integral(from)
        new Float8(bound, (row, i) => read(row, i).toDouble)
      case (FloatType, "float4")                 => new Float4(bound, (row, i) => row.getFloat(i))
      case (FloatType, _)                        => new Float8(bound, (row, i) => row.getFloat(i).toDouble)
      case (DoubleType, _)                       => new Float8(bound, (row, i) => row.getDouble(i))
      case (from, "numeric")                     => NumericColumn(bound, from, to)
      case (BinaryType, _)                       => new Bytea(bound)
      case (DateType, _)                         => new Date(bound)
      case (TimestampType | TimestampNTZType, _) => new Timestamp(bound, to.fraction)
      case _                                     => new Text(bound, to.length.getOrElse(Int.MaxValue))
    }
  }

  /** Reads any of Spark's integer types. */
  trait Integral {
    def apply(row: UnsafeRow, ordinal: Int): Long
  }

  object Integral {
    def apply(dataType: DataType): Integral = dataType match {
      case ByteType    => (row: UnsafeRow, ordinal: Int) => row.getByte(ordinal).toLong
      case ShortType   => (row: UnsafeRow, ordinal: Int) => row.getShort(ordinal).toLong
      case IntegerType => (row: UnsafeRow, ordinal: Int) => row.getInt(ordinal).toLong
      case _           => (row: UnsafeRow, ordinal: Int) => row.getLong(ordinal)
    }
  }

  private trait ReadFloat {
    def apply(row: UnsafeRow, ordinal: Int): Float
  }

  private trait ReadDouble {
    def apply(row: UnsafeRow, ordinal: Int): Double
  }

  final private class Bool(bound: BoundColumn) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      out.reserve(5)
      out.putInt(1)
      out.putByte(if (row.getBoolean(ordinal)) 1 else 0)
    }
  }

  final private class Int2(bound: BoundColumn, read: Integral) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      out.reserve(6)
      out.putInt(2)
      out.putShort(read(row, ordinal).toInt)
    }
  }

  final private class Int4(bound: BoundColumn, read: Integral) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      out.reserve(8)
      out.putInt(4)
      out.putInt(read(row, ordinal).toInt)
    }
  }

  final private class Int8(bound: BoundColumn, read: Integral) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      out.reserve(12)
      out.putInt(8)
      out.putLong(read(row, ordinal))
    }
  }

  final private class Float4(bound: BoundColumn, read: ReadFloat) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      out.reserve(8)
      out.putInt(4)
      out.putInt(java.lang.Float.floatToIntBits(read(row, ordinal)))
    }
  }

  final private class Float8(bound: BoundColumn, read: ReadDouble) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      out.reserve(12)
      out.putInt(8)
      out.putLong(java.lang.Double.doubleToLongBits(read(row, ordinal)))
    }
  }

  final private class Bytea(bound: BoundColumn) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      val length = UnsafeRows.length(row, ordinal)
      out.reserve(4 + length)
      out.putInt(length)
      out.putBytes(row.getBaseObject, UnsafeRows.address(row, ordinal), length)
    }
  }

  /** Days since 2000. The first and last values that fit mean infinity there. */
  final private class Date(bound: BoundColumn) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      val days = row.getInt(ordinal).toLong - DaysTo2000
      if (days < FirstDay || days > LastDay)
        refuse("PostgreSQL has no such date (it ends in the years -4713 and 5874897)")
      out.reserve(8)
      out.putInt(4)
      out.putInt(days.toInt)
    }
  }

  /** Microseconds since 2000.
    *
    * @param fraction
    *   digits that the column keeps; the server would round the rest away
    */
  final private class Timestamp(bound: BoundColumn, fraction: Int) extends CopyColumn(bound) {
    private val unit = math.pow(10, (6 - fraction).toDouble).toLong

    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      val micros = row.getLong(ordinal)
      if (micros < FirstMicros) refuse("PostgreSQL has no timestamp before the year -4713")
      if (unit > 1 && micros % unit != 0)
        refuse(s"it has more than the $fraction digits of a second that the column keeps")
      out.reserve(12)
      out.putInt(8)
      out.putLong(micros - MicrosTo2000)
    }
  }

  final private class Text(bound: BoundColumn, maxChars: Int) extends CopyColumn(bound) {
    override def encode(row: UnsafeRow, out: ChunkedBytes): Unit = {
      val length = UnsafeRows.length(row, ordinal)
      val base = row.getBaseObject
      val address = UnsafeRows.address(row, ordinal)
      val problem = Texts.problem(base, address, length)
      if (problem != null) refuse(problem)
      if (length > maxChars && UTF8String.fromAddress(base, address, length).numChars() > maxChars)
        refuse(s"it has more than $maxChars characters")
      out.reserve(4 + length)
      out.putInt(length)
      out.putBytes(base, address, length)
    }
  }

  private val DaysTo2000 = 10957L
  private val MicrosTo2000 = DaysTo2000 * 86400L * 1000000L
  private val FirstDay = -2451545L
  private val LastDay = 2145031948L
  private val FirstMicros = -211813488000000000L + MicrosTo2000
}
