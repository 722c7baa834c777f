package io.epochal.jdbc.insert

import java.time.LocalDate

/** The same texts as [[IsoTime]] writes, as ASCII. Remembers the last day, which many rows share; for one thread. */
final private[jdbc] class IsoBytes {
  import IsoBytes._

  private var day = Long.MinValue
  private val ofDay = new Array[Byte](DateLength)

  /** Writes `2026-01-31`. */
  def date(days: Long, into: Array[Byte], at: Int): Unit = {
    if (days != day) {
      val date = LocalDate.ofEpochDay(days)
      digits(ofDay, 0, 4, date.getYear)
      ofDay(4) = '-'
      digits(ofDay, 5, 2, date.getMonthValue)
      ofDay(7) = '-'
      digits(ofDay, 8, 2, date.getDayOfMonth)
      day = days
    }
    System.arraycopy(ofDay, 0, into, at, DateLength)
  }

  /** Writes `2026-01-31T12:30:00.123456`. */
  def timestamp(micros: Long, into: Array[Byte], at: Int): Unit = {
    date(Math.floorDiv(micros, MicrosPerDay), into, at)
    val within = Math.floorMod(micros, MicrosPerDay)
    val seconds = (within / 1000000L).toInt
    into(at + 10) = 'T'
    digits(into, at + 11, 2, seconds / 3600)
    into(at + 13) = ':'
    digits(into, at + 14, 2, seconds / 60 % 60)
    into(at + 16) = ':'
    digits(into, at + 17, 2, seconds % 60)
    into(at + 19) = '.'
    digits(into, at + 20, 6, (within % 1000000L).toInt)
  }

  private def digits(into: Array[Byte], at: Int, count: Int, value: Int): Unit = {
    var rest = value
    var place = at + count - 1
    while (place >= at) {
      into(place) = ('0' + rest % 10).toByte
      rest /= 10
      place -= 1
    }
  }
}

private[jdbc] object IsoBytes {
  val DateLength = 10
  val TimestampLength = 26
  private val MicrosPerDay = 86400L * 1000000L
}
