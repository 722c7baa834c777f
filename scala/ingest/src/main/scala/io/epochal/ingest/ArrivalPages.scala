package io.epochal.ingest

import org.apache.spark.unsafe.types.UTF8String

import io.epochal.ingest.intake.StoredArrival
import io.epochal.kit.json.Json
import io.epochal.kit.record.{LoneRecord, Pages, RecordFormat, RecordOrigin, Records}
import io.epochal.kit.spark.TextMap

/** The records of a task for [[io.epochal.kit.record.RecordRows]]: each stands alone. */
final private class ArrivalPages(arrivals: ArrivalReader, format: RecordFormat) extends Pages {
  private val record = new LoneRecord(
    format match {
      case lines: RecordFormat.OfLines => lines
      case other                       => throw new IllegalArgumentException(s"records are not received as $other")
    },
    IngestOptions.Format)
  private var from: ArrivalOrigin = _

  override def records: Records = record

  override def origin: Option[RecordOrigin] = Option(from)

  override def index: Long = arrivals.number

  override def count: Long = 0L

  override def next(): Boolean = {
    val more = arrivals.next()
    if (more) {
      val arrival = arrivals.arrival
      if (from == null || (from.arrival ne arrival)) from = new ArrivalOrigin(arrival)
      record.set(arrival.payload, arrivals.begin, arrivals.end)
    }
    more
  }

  override def close(): Unit = arrivals.close()
}

/** Where a record came from, as values of columns. */
final private class ArrivalOrigin(val arrival: StoredArrival) extends RecordOrigin {
  private lazy val remote = UTF8String.fromString(arrival.remote)
  private lazy val stream = UTF8String.fromString(arrival.stream)
  private lazy val headers = Option(arrival.headers).map(text => TextMap(ArrivalOrigin.texts(text))).orNull

  override def value(column: String): Any = column match {
    case "receivedAt" => arrival.receivedAt
    case "remote"     => remote
    case "stream"     => stream
    case "headers"    => headers
    case _            => null
  }
}

private object ArrivalOrigin {

  /** The texts of a JSON object. */
  def texts(json: String): Map[String, String] = {
    val parser = Json.factory.createParser(json)
    try {
      val texts = Map.newBuilder[String, String]
      parser.nextToken(): Unit
      var name = parser.nextFieldName()
      while (name != null) {
        texts += name -> parser.nextTextValue()
        name = parser.nextFieldName()
      }
      texts.result()
    } finally parser.close()
  }
}
