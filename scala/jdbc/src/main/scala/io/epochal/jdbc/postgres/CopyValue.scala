package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._

import io.epochal.jdbc.row.{NulCharacter, SparkTime}
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes}
import io.epochal.kit.spark.memory.Memory

/** Writes values of one type in the binary form of a PostgreSQL type, with the length before them.
  *
  * What the server would refuse for the whole epoch, or would store changed, is refused here, where the row is known (K9).
  * Belongs to one task.
  *
  * @param column
  *   place in the query's rows, for messages
  */
abstract private[postgres] class CopyValue(column: Int) {

  /** The value is not NULL. Addresses are those of `UnsafeLayout`. */
  def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit

  final protected def refuse(reason: String): Nothing = throw new BadValue(column, reason)
}

private[postgres] object CopyValue {

  /** PostgreSQL's own bound for one value, less its header. */
  val MaxBytes: Int = 0x3fffffff - 8

  def apply(column: Int, from: DataType, to: PostgresType, nul: NulCharacter): CopyValue = (from, to.shape) match {
    case (ArrayType(element, _), array: PostgresType.Array) =>
      new ArrayValue(column, element, array, CopyValue(column, element, array.element, nul))
    case (_, PostgresType.Enum(labels)) => new LabelValue(column, labels)
    case _                              => plain(column, from, to, nul)
  }

  private def plain(column: Int, from: DataType, to: PostgresType, nul: NulCharacter): CopyValue = from match {
    case BooleanType                                   => new BooleanValue(column)
    case ByteType | ShortType | IntegerType | LongType => whole(column, ReadLong(from), to)
    case FloatType if to.name == "float4"              => new Float4(column, Memory.getFloat(_, _))
    case FloatType                                     => new Float8(column, Memory.getFloat(_, _).toDouble)
    case DoubleType                                    => new Float8(column, Memory.getDouble(_, _))
    case d: DecimalType                                => NumericValue(column, d, to)
    case BinaryType                                    => new ByteaValue(column)
    case DateType                                      => new DateValue(column)
    case TimestampType | TimestampNTZType              => new TimestampValue(column, to.fraction)
    case CalendarIntervalType                          => new CalendarIntervalValue(column, to.intervalFraction)
    case _: DayTimeIntervalType                        => new DayTimeIntervalValue(column, to.intervalFraction)
    case _: YearMonthIntervalType                      => new YearMonthIntervalValue(column)
    case _: StringType | _: CharType | _: VarcharType  => text(column, to, nul)
    case time if SparkTime.is(time)                    => new TimeValue(column, to.fraction)
    case nested                                        => new JsonTree(column, nested, to.name == "jsonb", nul)
  }

  private def whole(column: Int, read: ReadLong, to: PostgresType): CopyValue = to.name match {
    case "int2"   => new Int2(column, read)
    case "int4"   => new Int4(column, read)
    case "int8"   => new Int8(column, read)
    case "float4" => new Float4(column, read(_, _).toFloat)
    case "float8" => new Float8(column, read(_, _).toDouble)
    case _        => NumericValue.whole(column, read, to)
  }

  private def text(column: Int, to: PostgresType, nul: NulCharacter): CopyValue = to.name match {
    case "uuid"    => new UuidValue(column)
    case "inet"    => new InetValue(column, isNetwork = false)
    case "cidr"    => new InetValue(column, isNetwork = true)
    case "numeric" => new NumericText(column, to)
    case "json"    => new JsonText(column, isBinary = false, nul)
    case "jsonb"   => new JsonText(column, isBinary = true, nul)
    case "name"    => new TextValue(column, Int.MaxValue, MaxNameBytes, nul)
    case _         => new TextValue(column, to.length.getOrElse(Int.MaxValue), MaxBytes, nul)
  }

  private val MaxNameBytes = 63
}
