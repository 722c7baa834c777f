package io.epochal.rest.source

import scala.util.Try

import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.{DeserializationFeature, SerializationFeature}

import io.epochal.core.hash.Sha256
import io.epochal.kit.json.Json
import io.epochal.kit.record.{Body, RecordFormat}

/** Computes digests of records, for [[ListMarks]]. */
final private[source] class RecordDigests(list: ListRequests) {
  private val mapper = JsonMapper
    .builder(Json.trees)
    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
    .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
    .build()

  /** JSON Pointer within a record to the digested value; empty for the whole record. */
  val of: String = list.errors.keyField.getOrElse("")

  /** Digests the records with these ascending numbers, in a page that begins with the record `first`. */
  def read(body: Body, first: Long, numbers: Seq[Long]): Seq[(Long, String)] = if (numbers.isEmpty) Nil
  else {
    val records = list.rules.format.open(body, list.place)
    var at = first
    numbers.map { number =>
      val _ = records.skip(number - at)
      records.next(): Unit
      records.pass()
      at = number + 1
      number -> digest(records.bytes)
    }
  }

  private def digest(record: Array[Byte]): String = {
    val content = list.rules.format match {
      case _: RecordFormat.Csv => record
      case _                   => Try(canonical(record)).getOrElse(record)
    }
    Sha256.hex(content, 8)
  }

  /** Equal for records that differ only in white space, escapes and field order. */
  private def canonical(record: Array[Byte]): Array[Byte] = {
    val whole = mapper.readTree(record)
    val key = whole.at(of)
    val value = if (key.isMissingNode) whole else key
    mapper.writeValueAsBytes(mapper.treeToValue(value, classOf[Object]))
  }
}
