package io.epochal.core.offset

import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.error.{Conditions, EpochalException, Redaction}

/** The JSON of a source's offsets: `{"v":1,"format":"epochal-random","source":"…",<fields of the position>}`.
  *
  * An offset is exclusive: the position after the last row delivered. It holds its format version and the source's identity;
  * newer versions and other sources are rejected, older versions stay readable. The text is a pure function of the position:
  * Spark compares offsets as text.
  *
  * @tparam P
  *   the position, an immutable value
  * @param version
  *   the newest version; every version from 1 up to it is read
  */
abstract class OffsetFormat[P](val format: String, val version: Int) extends Serializable {

  /** The version for writing a position: the oldest that can hold it, so that its text equals that of older releases. */
  protected def versionOf: P => Int = _ => version

  /** Writes the position's fields, always in the same order. */
  protected def write(position: P, fields: ObjectNode): Unit

  /** Reads the fields of any version up to the present one; throws with the reason as message. */
  protected def read(version: Int, fields: ObjectNode): P

  /** Encodes a position.
    *
    * @param source
    *   the identity of the source: the options that select its rows, without secrets
    */
  final def toJson(source: String, position: P): String = {
    val node = OffsetFormat.mapper.createObjectNode()
    node.put("v", versionOf(position)).put("format", format).put("source", source)
    write(position, node)
    OffsetFormat.mapper.writeValueAsString(node)
  }

  final def fromJson(source: String, json: String): Either[EpochalException, P] =
    for {
      fields <- Try(OffsetFormat.mapper.readTree(json)).toOption
        .collect { case node: ObjectNode => node }
        .toRight(invalid(json, "it is not a JSON object"))
      versionNode <- Option(fields.get("v"))
        .filter(v => v.isInt && v.intValue >= 1)
        .map(_.intValue)
        .toRight(invalid(json, "it has no version \"v\""))
      _ <- Either.cond(
        versionNode <= version,
        (),
        Conditions.OffsetVersionUnsupported("format" -> format, "found" -> versionNode, "supported" -> version)
      )
      _ <- sameSource(source, fields)
      position <- Try(read(versionNode, fields)).toEither.left.map {
        case NonFatal(e) => invalid(json, Option(e.getMessage).getOrElse(e.toString))
        case fatal       => throw fatal
      }
    } yield position

  private def sameSource(source: String, fields: ObjectNode): Either[EpochalException, Unit] = {
    val format = fields.path("format").asText("")
    val owner = fields.path("source").asText("")
    Either.cond(
      format == this.format && owner == source,
      (),
      Conditions.SourceChanged(
        "found" -> s"$format $owner".trim,
        "expected" -> s"${this.format} $source",
        "sourceId" -> owner)
    )
  }

  private def invalid(json: String, reason: String): EpochalException =
    Conditions.OffsetInvalid(
      "format" -> format,
      "offset" -> Redaction.text(String.valueOf(json).take(300)),
      "reason" -> reason
    )

  /** For `read`: a field that must be a whole number of at least 0. */
  final protected def count(fields: ObjectNode, name: String): Long = {
    val node = fields.get(name)
    require(node != null && node.canConvertToExactIntegral && node.canConvertToLong, s"\"$name\" is not a whole number")
    require(node.longValue >= 0, s"\"$name\" is negative")
    node.longValue
  }
}

object OffsetFormat {
  private val mapper = new ObjectMapper()
}
