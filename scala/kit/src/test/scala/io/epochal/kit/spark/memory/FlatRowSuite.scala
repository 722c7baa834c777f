package io.epochal.kit.spark.memory

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, GetStructField, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

final class FlatRowSuite extends AnyFunSuite {
  private val draw = new Random(7)

  private def text(): UTF8String = UTF8String.fromString(draw.alphanumeric.take(draw.nextInt(40)).mkString)

  /** A value of each kind of slot, or NULL. */
  private def value(of: DataType): Any =
    if (draw.nextInt(4) == 0) null
    else
      of match {
        case IntegerType                => draw.nextInt()
        case BooleanType                => draw.nextBoolean()
        case DoubleType                 => draw.nextDouble()
        case DecimalType.SYSTEM_DEFAULT => Decimal(BigDecimal(draw.nextLong()), 38, 18)
        case ArrayType(of, _)           => new GenericArrayData(Array.fill(draw.nextInt(4))(value(of)).toArray[Any])
        case BinaryType                 => Array.fill(draw.nextInt(20))(draw.nextInt().toByte)
        case _                          => text()
      }

  private val kinds =
    Seq(IntegerType, StringType, BooleanType, DecimalType.SYSTEM_DEFAULT, DoubleType, ArrayType(StringType), BinaryType)

  test("a row has the columns of the STRUCT and the further ones, whatever their types and NULLs") {
    Seq(1, 3, 62, 70, 130).foreach { width =>
      val struct = StructType((0 until width).map(i => StructField(s"c$i", kinds(draw.nextInt(kinds.size)))))
      val schema = new StructType()
        .add("name", StringType)
        .add("row", struct)
        .add("list", ArrayType(StringType))
        .add("kind", StringType)
        .add("number", IntegerType)
      val others = Seq(2, 3, 4)
      def column(i: Int) = BoundReference(i, schema(i).dataType, nullable = true)
      val wanted =
        UnsafeProjection.create(struct.indices.map(GetStructField(column(1), _)) ++ others.map(column))
      val flat = new FlatRow(schema, 1, others)
      val binary = BinaryRow.converter(schema)
      (1 to 200).foreach { _ =>
        val inner = if (draw.nextInt(5) == 0) null else InternalRow.fromSeq(struct.map(field => value(field.dataType)))
        val row = InternalRow(text(), inner, value(schema(2).dataType), value(StringType), value(IntegerType))
        val found = flat(binary(row)).internal
        assert(found.numFields == width + 3)
        val types = struct.map(_.dataType) ++ others.map(schema(_).dataType)
        val expected = wanted(row)
        assert(found.toSeq(types).map(shown) == expected.toSeq(types).map(shown))
      }
    }
  }

  private def shown(value: Any): Any = value match {
    case bytes: Array[Byte] => bytes.toSeq
    case other              => other
  }
}
