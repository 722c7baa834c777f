package io.epochal.kit.spark

import java.util.Arrays

import scala.util.control.NonFatal
import scala.util.{Try, Using}

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException, JsonToken}
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

import io.epochal.kit.json.Json

/** Tells what in a record does not fit its columns: the place, its type, and the kind of value that was found there. Slow:
  * each value is read by a parser of its own, so that one that does not fit spoils no other.
  */
final private[spark] class JsonMisfits(converter: DataType => JsonParser => AnyRef) {
  import JsonMisfits._

  /** @param column
    *   says for a field which type it has, and takes its value where that fits (NULL where it does not); or passes over the
    *   value and says None
    * @return
    *   what does not fit first
    */
  def of(record: Array[Byte])(column: (String, JsonParser) => Option[(DataType, AnyRef => Unit)]): Option[String] =
    if (!isJson(record)) Some("it is not JSON")
    else
      parsing(record) { parser =>
        if (parser.nextToken() != JsonToken.START_OBJECT)
          Some(s"it is ${Json.describe(parser.currentToken)}, not an object")
        else fields(parser, column)
      }.flatten

  private def fields(
      parser: JsonParser,
      column: (String, JsonParser) => Option[(DataType, AnyRef => Unit)]
  ): Option[String] = {
    var first = Option.empty[String]
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val name = parser.currentName
      parser.nextToken()
      column(name, parser).foreach { case (kind, take) =>
        val value = bytes(parser)
        read(kind, value) match {
          case Right(fitting) => take(fitting)
          case Left(_) =>
            take(null)
            if (first.isEmpty) first = Some(misfit(name, kind, value))
        }
      }
    }
    first
  }

  private def misfit(place: String, kind: DataType, value: Array[Byte]): String = {
    val inner = kind match {
      case struct: StructType =>
        members(value, JsonToken.START_OBJECT).flatMap { case (name, member) =>
          struct.fields.find(_.name == name).map(field => (s"$place.$name", field.dataType, member))
        }
      case ArrayType(element, _) =>
        members(value, JsonToken.START_ARRAY).map { case (_, member) => (s"$place.element", element, member) }
      case MapType(_, of, _) =>
        members(value, JsonToken.START_OBJECT).map { case (_, member) => (s"$place.value", of, member) }
      case _ => Nil
    }
    inner.find { case (_, of, member) => read(of, member).isLeft } match {
      case Some((deeper, of, member)) => misfit(deeper, of, member)
      case None => s"the column '$place' is ${kind.sql}, and the record has ${described(value)} there that does not fit"
    }
  }

  private def read(kind: DataType, value: Array[Byte]): Either[Throwable, AnyRef] =
    try
      Using.resource(Json.factory.createParser(value)) { parser =>
        parser.nextToken()
        Right(converter(kind)(parser))
      }
    catch { case NonFatal(e) => Left(e) }
}

private object JsonMisfits {

  private def parsing[A](text: Array[Byte])(body: JsonParser => A): Option[A] =
    try Some(Using.resource(Json.factory.createParser(text))(body))
    catch { case _: JsonProcessingException => None }

  /** The value that the parser stands at, which is then at its last token. */
  private def bytes(parser: JsonParser): Array[Byte] = {
    val begin = parser.currentTokenLocation()
    parser.skipChildren()
    parser.finishToken()
    val text = begin.contentReference().getRawContent.asInstanceOf[Array[Byte]]
    Arrays.copyOfRange(text, begin.getByteOffset.toInt, parser.currentLocation().getByteOffset.toInt)
  }

  /** What is in an object, or in an array (without names); nothing, where the value is something else. */
  private def members(value: Array[Byte], kind: JsonToken): Seq[(String, Array[Byte])] =
    parsing(value) { parser =>
      if (parser.nextToken() != kind) Vector.empty
      else
        Iterator
          .continually(parser.nextToken())
          .takeWhile(token => token != JsonToken.END_OBJECT && token != JsonToken.END_ARRAY)
          .map { token =>
            val name = parser.currentName
            if (token == JsonToken.FIELD_NAME) parser.nextToken()
            (name, bytes(parser))
          }
          .toVector
    }.getOrElse(Nil)

  private def described(value: Array[Byte]): String = parsing(value) { parser =>
    parser.nextToken() match {
      case JsonToken.VALUE_STRING if parser.getTextLength == 0            => "an empty string"
      case JsonToken.VALUE_STRING if ExactParser.isBroken(parser.getText) => "a string with half of a surrogate pair"
      case JsonToken.VALUE_NUMBER_INT                                     => "a whole number"
      case JsonToken.VALUE_NUMBER_FLOAT if isTooLarge(parser)             => "a number that is too large"
      case JsonToken.VALUE_NUMBER_FLOAT                                   => "a number with a fraction"
      case other                                                          => Json.describe(other)
    }
  }.getOrElse("something")

  private def isTooLarge(parser: JsonParser): Boolean = Try(new ExactParser(parser).getDoubleValue).isFailure

  /** One value, and nothing after it. */
  private def isJson(text: Array[Byte]): Boolean = parsing(text) { parser =>
    parser.nextToken()
    parser.skipChildren()
    parser.nextToken() == null
  }.contains(true)
}
