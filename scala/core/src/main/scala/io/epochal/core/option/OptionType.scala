package io.epochal.core.option

import java.time.Duration
import java.util.Locale

import scala.util.Try

/** Parses an option's text.
  *
  * @param name
  *   shown in the documentation
  * @param expected
  *   completes "which is not …" in an error
  */
final class OptionType[A](
    val name: String,
    val expected: String,
    val example: String,
    val allowed: Seq[String] = Nil
)(
    val parse: String => Option[A],
    val render: A => String
)

object OptionType {

  val string: OptionType[String] =
    new OptionType[String]("string", "a text that is not empty", "text")(s => Option(s).filter(_.nonEmpty), identity)

  val boolean: OptionType[Boolean] =
    new OptionType[Boolean]("boolean", "true or false", "true", Seq("true", "false"))(
      _.trim.toLowerCase(Locale.ROOT).toBooleanOption,
      _.toString
    )

  def int(min: Int, max: Int = Int.MaxValue): OptionType[Int] =
    new OptionType[Int]("int", range(min.toLong, max.toLong, Int.MaxValue.toLong), math.max(min, 1).toString)(
      s => s.trim.toIntOption.filter(n => n >= min && n <= max),
      _.toString
    )

  def long(min: Long = Long.MinValue, max: Long = Long.MaxValue): OptionType[Long] =
    new OptionType[Long]("long", range(min, max, Long.MaxValue), math.max(min, 1L).toString)(
      s => s.trim.toLongOption.filter(n => n >= min && n <= max),
      _.toString
    )

  /** A rate per second: a number above 0, with or without a fraction. */
  val rate: OptionType[Double] =
    new OptionType[Double]("number", "a number above 0", "5")(
      s => s.trim.toDoubleOption.filter(n => n > 0 && !n.isInfinite),
      _.toString
    )

  /** One of a few words, in any case; the value is spelled as in `words`. */
  def oneOf(words: String*): OptionType[String] = choice(words)(identity)

  /** One of a few values, by its name in any case. */
  def choice[A](values: Seq[A])(name: A => String): OptionType[A] = {
    val names = values.map(name)
    new OptionType[A]("string", s"one of ${names.mkString(", ")}", names.head, names)(
      s => values.find(name(_).equalsIgnoreCase(s.trim)),
      name
    )
  }

  /** A duration: a number with ms, s, m, h or d (`500ms`, `30s`); also Spark's spelling, `10 seconds`. */
  val duration: OptionType[Duration] =
    new OptionType[Duration]("duration", "a length of time with its unit (ms, s, m, h or d)", "30s")(
      Quantity.duration,
      Quantity.render)

  /** A size in bytes: a number, plain or with k, m or g (powers of 1024). */
  val bytes: OptionType[Long] =
    new OptionType[Long]("bytes", "a size in bytes, alone or with k, m or g", "64m")(
      Quantity.bytes,
      Quantity.renderBytes
    )

  /** Names separated by commas, in double quotes if necessary. */
  val names: OptionType[Seq[String]] =
    new OptionType[Seq[String]]("names", "one or more names with commas between them", "id,name")(
      NameList.names,
      NameList.render
    )

  /** Pairs of names, as `from:to`, separated by commas. */
  val pairs: OptionType[Seq[(String, String)]] =
    new OptionType[Seq[(String, String)]](
      "pairs of names",
      "one or more pairs as from:to, with commas between them",
      "id:comment_id,body:text")(
      NameList.pairs,
      _.map { case (from, to) => s"$from:$to" }.mkString(",")
    )

  /** An RFC 6901 JSON Pointer: empty, or starting with a slash. */
  val jsonPointer: OptionType[String] =
    new OptionType[String]("JSON Pointer", "a JSON Pointer (empty, or starting with /)", "/data/items")(
      s => Some(s.trim).filter(p => p.isEmpty || p.startsWith("/")),
      identity
    )

  /** JSON Pointers; a comma before a slash separates them. */
  val jsonPointers: OptionType[Seq[String]] =
    new OptionType[Seq[String]](
      "JSON Pointers",
      "a JSON Pointer (empty, or starting with /), or several with commas between them",
      "/data/items")(
      s => Some(s.trim.split("\\s*,\\s*(?=/)", -1).toSeq).filter(_.forall(p => p.isEmpty || p.startsWith("/"))),
      _.mkString(",")
    )

  val instant: OptionType[java.time.Instant] =
    new OptionType[java.time.Instant]("instant", "a moment in UTC (ISO 8601)", "2026-01-01T00:00:00Z")(
      s => Try(java.time.Instant.parse(s.trim)).toOption,
      _.toString
    )

  private def range(min: Long, max: Long, top: Long): String =
    if (max < top) s"a whole number from $min to $max"
    else if (min > Int.MinValue) s"a whole number of at least $min"
    else "a whole number"
}

/** Parses and renders durations and sizes. */
private object Quantity {

  private val Amount = """\s*(\d+)\s*([a-zA-Z]*)\s*""".r

  def duration(text: String): Option[Duration] = amount(text) {
    case "ms" | "millisecond" | "milliseconds" => 1L
    case "s" | "sec" | "second" | "seconds"    => 1000L
    case "m" | "min" | "minute" | "minutes"    => 60000L
    case "h" | "hour" | "hours"                => 3600000L
    case "d" | "day" | "days"                  => 86400000L
  }.map(Duration.ofMillis(_))

  def bytes(text: String): Option[Long] = amount(text) {
    case "" | "b"           => 1L
    case "k" | "kb" | "kib" => 1L << 10
    case "m" | "mb" | "mib" => 1L << 20
    case "g" | "gb" | "gib" => 1L << 30
  }.filter(_ > 0)

  def render(value: Duration): String = value.toMillis match {
    case 0L     => "0s"
    case millis => inUnits(millis, 3600000L -> "h", 60000L -> "m", 1000L -> "s", 1L -> "ms")
  }

  def renderBytes(value: Long): String =
    inUnits(value, (1L << 30) -> "g", (1L << 20) -> "m", (1L << 10) -> "k", 1L -> "")

  /** The number of the smallest units; None also if a Long cannot hold it. */
  private def amount(text: String)(unit: PartialFunction[String, Long]): Option[Long] = text match {
    case Amount(number, name) =>
      for {
        size <- unit.lift(name.toLowerCase(Locale.ROOT))
        count <- number.toLongOption
        value <- Try(Math.multiplyExact(count, size)).toOption
      } yield value
    case _ => None
  }

  /** In the largest unit that divides it. */
  private def inUnits(value: Long, units: (Long, String)*): String =
    units.collectFirst { case (size, name) if value % size == 0 => s"${value / size}$name" }.mkString
}
