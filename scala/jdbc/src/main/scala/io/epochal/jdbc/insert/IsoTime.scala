package io.epochal.jdbc.insert

import java.time.{LocalDate, LocalDateTime, ZoneOffset}

/** Dates and times as ISO 8601 texts. Those of the years 1 to 9999 have the same length, so they sort chronologically. */
private[jdbc] object IsoTime {

  private val MicrosPerSecond = 1000000L
  val FirstDay: Long = LocalDate.of(1, 1, 1).toEpochDay
  val FirstGregorianDay: Long = LocalDate.of(1582, 10, 15).toEpochDay
  val LastDay: Long = LocalDate.of(9999, 12, 31).toEpochDay
  val FirstMicro: Long = FirstDay * 86400L * MicrosPerSecond
  val FirstGregorianMicro: Long = FirstGregorianDay * 86400L * MicrosPerSecond
  val LastMicro: Long = (LastDay + 1) * 86400L * MicrosPerSecond - 1

  /** `2026-01-31` */
  def date(days: Int): String = LocalDate.ofEpochDay(days.toLong).toString

  /** `2026-01-31T12:30:00.123456` */
  def timestamp(micros: Long, suffix: String = ""): String = {
    val fraction = Math.floorMod(micros, MicrosPerSecond)
    val time = LocalDateTime.ofEpochSecond(Math.floorDiv(micros, MicrosPerSecond), 0, ZoneOffset.UTC)
    val out = new StringBuilder(27).append(time.toLocalDate).append('T')
    digits(out, time.getHour, 10)
    digits(out.append(':'), time.getMinute, 10)
    digits(out.append(':'), time.getSecond, 10)
    digits(out.append('.'), fraction.toInt, 100000)
    out.append(suffix).toString
  }

  /** @param highest
    *   the unit of the first digit
    */
  private def digits(out: StringBuilder, value: Int, highest: Int): Unit = {
    var unit = highest
    while (unit > 0) {
      out.append(('0' + value / unit % 10).toChar)
      unit /= 10
    }
  }
}
