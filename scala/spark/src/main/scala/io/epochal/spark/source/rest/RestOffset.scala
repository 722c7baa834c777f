package io.epochal.spark.source.rest

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.connector.read.streaming.Offset

import io.epochal.core.offset.OffsetFormat

/** How far the API has been delivered. Exclusive: with `records = 10` the records 0 to 9 are delivered. */
final case class RestPosition(records: Long)

final case class RestOffset(source: String, position: RestPosition) extends Offset {
  override val json: String = RestOffset.toJson(source, position)
}

object RestOffset extends OffsetFormat[RestPosition](RestOptions.Format, version = 1) {

  override protected def write(position: RestPosition, fields: ObjectNode): Unit = {
    fields.put("records", position.records)
    ()
  }

  override protected def read(version: Int, fields: ObjectNode): RestPosition = RestPosition(count(fields, "records"))
}
