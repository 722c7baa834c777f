package io.epochal.kit.spark

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.json.{JsonScan, PlainNumber, PlainText, PlainTime}

/** Parses a value of one type from JSON bytes if it is in its usual form: the result then equals that of Spark's parser. */
sealed abstract private[spark] class PlainValue {

  /** Parses a value.
    *
    * @return
    *   the value or null, with `scan` after it; `Other`: it has another form, and the position of `scan` is undefined
    */
  def read(scan: JsonScan): AnyRef = if (scan.take(JsonScan.Null)) null else some(scan)

  protected def some(scan: JsonScan): AnyRef
}

private[spark] object PlainValue {

  /** Sentinel: the text is not in fast-path form. */
  val Other: AnyRef = new Object

  /** The parser for a column type. */
  def of(kind: DataType): PlainValue = kind match {
    // These may equal the string type, and be padded or too long.
    case _: CharType | _: VarcharType => Unknown
    case StringType                   => Text
    case IntegerType                  => Whole32
    case LongType                     => Whole64
    case DoubleType                   => Fraction64
    case BooleanType                  => Truth
    case DateType if !legacy          => Day
    case TimestampType if !legacy     => Moment
    case _                            => Unknown
  }

  /** Whether dates are parsed as in Spark 2. */
  private def legacy: Boolean = SQLConf.get.getConfString("spark.sql.legacy.timeParserPolicy") == "LEGACY"

  /** Not even NULL is the same for all types. */
  private object Unknown extends PlainValue {
    override def read(scan: JsonScan): AnyRef = Other
    override protected def some(scan: JsonScan): AnyRef = Other
  }

  /** A string in the scanned bytes, valid as long as they are. */
  private object Text extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val from = scan.at + 1
      if (!scan.string()) Other
      else if (scan.escaped) UTF8String.fromBytes(PlainText.unescaped(scan, from, scan.at - 1))
      else UTF8String.fromBytes(scan.bytes, from, scan.at - 1 - from)
    }
  }

  private object Whole32 extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val value = PlainNumber.whole(scan)
      if (value.isValidInt) Int.box(value.toInt) else Other
    }
  }

  private object Whole64 extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val value = PlainNumber.whole(scan)
      if (value == PlainNumber.NotWhole) Other else Long.box(value)
    }
  }

  private object Fraction64 extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val value = PlainNumber.double(scan)
      if (value.isNaN) Other else Double.box(value)
    }
  }

  private object Truth extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef =
      if (scan.take(JsonScan.True)) java.lang.Boolean.TRUE
      else if (scan.take(JsonScan.False)) java.lang.Boolean.FALSE
      else Other
  }

  /** "2026-01-31" */
  private object Day extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val from = scan.at + 1
      if (!scan.string() || scan.at - 1 - from != PlainTime.DayLength) Other
      else {
        val day = PlainTime.day(scan.bytes, from)
        if (day == PlainTime.NoDay) Other else Int.box(day)
      }
    }
  }

  /** "2026-01-31T23:59:59.999999Z", with up to six decimals */
  private object Moment extends PlainValue {
    override protected def some(scan: JsonScan): AnyRef = {
      val from = scan.at + 1
      if (!scan.string()) Other
      else {
        val micros = PlainTime.micros(scan.bytes, from, scan.at - 1)
        if (micros == PlainTime.NoMoment) Other else Long.box(micros)
      }
    }
  }
}
