package io.epochal.kit.source.time

import java.time.Instant

import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

/** The highest event time of the rows before a position, in the text of its offset: `"eventTime":"2026-01-01T00:00:00Z"` beside the
  * source's own fields. Readers that do not know the field pass it over.
  */
private[epochal] object EventTimeMark {
  private val Field = "eventTime"
  private val mapper = new ObjectMapper

  /** @param micros
    *   since 1970; None: no row with an event time was delivered, and the text stays as it is
    */
  def write(json: String, micros: Option[Long]): String = micros.fold(json) { mark =>
    mapper.readTree(json) match {
      case fields: ObjectNode => mapper.writeValueAsString(fields.put(Field, instant(mark).toString))
      case _                  => json
    }
  }

  /** None also where the field is none. */
  def read(json: String): Option[Long] =
    if (!json.contains(Field)) None
    else
      for {
        fields <- Try(mapper.readTree(json)).toOption
        text <- Option(fields.get(Field)).filter(_.isTextual)
        mark <- Try(micros(Instant.parse(text.textValue))).toOption
      } yield mark

  def instant(micros: Long): Instant =
    Instant.ofEpochSecond(Math.floorDiv(micros, PerSecond), Math.floorMod(micros, PerSecond) * 1000L)

  private def micros(at: Instant): Long =
    Math.addExact(Math.multiplyExact(at.getEpochSecond, PerSecond), at.getNano / 1000L)

  private val PerSecond = 1000000L
}
