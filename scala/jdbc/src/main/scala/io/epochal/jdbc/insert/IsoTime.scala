package io.epochal.jdbc.insert

import java.time.{LocalDate, LocalDateTime, ZoneOffset}

/** Dates and times as ISO 8601 texts. All texts of a kind have one length: they sort as the times do. */
private[jdbc] object IsoTime {

  private val MicrosPerSecond = 1000000L
  val FirstDay: Long = LocalDate.of(1, 1, 1).toEpochDay
  val FirstGregorianDay: Long = LocalDate.of(1582, 10, 15).toEpochDay
  val LastDay: Long = LocalDate.of(9999, 12, 31).toEpochDay
  val FirstMicro: Long = FirstDay * 86400L * MicrosPerSecond
  val FirstGregorianMicro: Long = FirstGregorianDay * 86400L * MicrosPerSecond
  val LastMicro: Long = (LastDay + 1) * 86400L * MicrosPerSecond - 1

  /** `2026-01-31` */
  def date(days: Int): String = {
    val out = new StringBuilder(10)
    append(out, LocalDate.ofEpochDay(days.toLong))
    out.toString
  }

  /** `2026-01-31T12:30:00.123456` */
  def timestamp(micros: Long, suffix: String): String = {
    val fraction = Math.floorMod(micros, MicrosPerSecond)
    val time = LocalDateTime.ofEpochSecond(Math.floorDiv(micros, MicrosPerSecond), 0, ZoneOffset.UTC)
    val out = new StringBuilder(27)
    append(out, time.toLocalDate)
    out.append('T')
    digits(out, time.getHour, 2)
    out.append(':')
    digits(out, time.getMinute, 2)
    out.append(':')
    digits(out, time.getSecond, 2)
    out.append('.')
    digits(out, fraction.toInt, 6)
    out.append(suffix).toString
  }

  private def append(out: StringBuilder, date: LocalDate): Unit = {
    digits(out, date.getYear, 4)
    out.append('-')
    digits(out, date.getMonthValue, 2)
    out.append('-')
    digits(out, date.getDayOfMonth, 2)
  }

  private def digits(out: StringBuilder, value: Int, count: Int): Unit = {
    var unit = 1
    (1 until count).foreach(_ => unit *= 10)
    while (unit > 0) {
      out.append(('0' + value / unit % 10).toChar)
      unit /= 10
    }
  }
}
