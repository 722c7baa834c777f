package io.epochal.ingest.http.body

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import scala.collection.mutable

import com.fasterxml.jackson.core.JsonProcessingException

import io.epochal.kit.json.JsonScan

/** Converts a posted form, as some webhooks send it, to one record.
  *
  * If `payload` is the only field and its value is JSON, that value is the record. Otherwise the record is a JSON object of the
  * fields in the order of their first appearance; a repeated field is an array of strings, any other a string.
  */
private[body] object FormRecord {

  def apply(bytes: Array[Byte], length: Int): Array[Byte] = {
    val fields = mutable.LinkedHashMap.empty[String, Vector[Array[Byte]]]
    var from = 0
    while (from < length) {
      val until = indexOf(bytes, '&', from, length)
      if (until > from) {
        val equals = indexOf(bytes, '=', from, until)
        val name = new String(decoded(bytes, from, equals), UTF_8)
        val value = decoded(bytes, math.min(equals + 1, until), until)
        fields(name) = fields.getOrElse(name, Vector.empty) :+ value
        if (fields.size > MaxFields || fields(name).size > MaxFields)
          throw new Refused(Refusal.tooLarge(s"the form has more than $MaxFields fields", Some(0), Some(from)))
      }
      from = until + 1
    }
    if (fields.isEmpty) throw new Refused(Refusal.malformed("the form has no fields", Some(0), Some(0)))
    fields.get("payload").collect { case Vector(value) if fields.sizeIs == 1 && isJson(value) => value }.getOrElse {
      json(fields)
    }
  }

  private def isJson(bytes: Array[Byte]): Boolean = {
    val scan = new JsonScan(bytes, 0, bytes.length)
    try
      scan.next() >= 0 && {
        BodyFormat.pass(scan)
        scan.next() < 0
      }
    catch { case _: JsonProcessingException => false }
  }

  private def json(fields: collection.Map[String, Vector[Array[Byte]]]): Array[Byte] = JsonObject.of { out =>
    fields.foreach { case (name, values) =>
      out.writeFieldName(name)
      if (values.sizeIs > 1) out.writeStartArray()
      values.foreach(value => out.writeString(new String(value, UTF_8)))
      if (values.sizeIs > 1) out.writeEndArray()
    }
  }

  /** Decodes percent encoding and checks that the result is UTF-8. */
  private def decoded(bytes: Array[Byte], from: Int, until: Int): Array[Byte] = {
    val found = new Array[Byte](until - from)
    var count = 0
    var at = from
    while (at < until) {
      bytes(at) match {
        case '+' => found(count) = ' '
        case '%' =>
          val high = hex(bytes, at + 1, until)
          val low = hex(bytes, at + 2, until)
          if (high < 0 || low < 0)
            throw new Refused(Refusal.malformed("the percent encoding is wrong", Some(0), Some(at)))
          found(count) = (high << 4 | low).toByte
          at += 2
        case byte => found(count) = byte
      }
      count += 1
      at += 1
    }
    if (!new JsonScan(found, 0, count).text())
      throw new Refused(Refusal.malformed("a field is not UTF-8", Some(0), Some(from)))
    Arrays.copyOf(found, count)
  }

  private def hex(bytes: Array[Byte], at: Int, until: Int): Int =
    if (at < until) Character.digit(bytes(at).toInt, 16) else -1

  /** The index of the byte, or `until`. */
  private def indexOf(bytes: Array[Byte], byte: Char, from: Int, until: Int): Int = {
    var at = from
    while (at < until && bytes(at) != byte) at += 1
    at
  }

  private val MaxFields = 1000
}
