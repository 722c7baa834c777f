package io.epochal.kit.connector

import java.lang.{Long => JavaLong}
import java.nio.ByteBuffer
import java.time.Instant
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType

/** Ten rows with a time each, one second apart. */
object Moments {
  val Rows = 10L
  val columns: StructType = StructType.fromDDL("id BIGINT, at TIMESTAMP")
  def at(id: Long): Instant = Instant.parse("2026-01-01T00:00:00Z").plusSeconds(id)
  def row(id: Long): Array[AnyRef] = Array(Long.box(id), at(id))
}

/** Rows that can be read again. */
final class Moments extends SourceConnector[JavaLong]("moments", "Times.", util.List.of()) {
  override def schema(settings: Settings): StructType = Moments.columns
  override def identity(settings: Settings): String = "moments"
  override def positions: PositionFormat[JavaLong] = PositionFormat.number()

  override def open(settings: Settings, schema: StructType): Origin[JavaLong] = new Origin[JavaLong] {
    override def first(): JavaLong = 0L

    override def available(start: JavaLong, maxRows: Long): Available[JavaLong] = {
      val rows = math.min(Moments.Rows - start, maxRows)
      new Available(start + rows, rows, start + rows == Moments.Rows)
    }

    override def split(start: JavaLong, end: JavaLong, parts: Int): util.List[PositionRange[JavaLong]] =
      PositionRange.split(start, end, parts)

    override def read(range: PositionRange[JavaLong]): RowReader =
      RowReader.of(schema, (range.start.longValue until range.end.longValue).iterator.map(Moments.row).asJava)
  }
}

/** Rows that are received once. */
final class GivenMoments extends ReceivingConnector[JavaLong]("given-moments", "Times.", util.List.of()) {
  override def schema(settings: Settings): StructType = Moments.columns
  override def identity(settings: Settings): String = "moments"
  override def positions: PositionFormat[JavaLong] = PositionFormat.number()

  override def open(settings: Settings, schema: StructType): Receiver[JavaLong] = new Receiver[JavaLong] {
    override def first(): JavaLong = 0L

    override def receive(cursor: JavaLong, maxRecords: Int): Received[JavaLong] = {
      val end = math.min(Moments.Rows, cursor + maxRecords)
      val records = (cursor.longValue until end).map(id => ByteBuffer.allocate(8).putLong(id).array)
      new Received(records.asJava, end, end == Moments.Rows)
    }
  }

  override def decoder(settings: Settings, schema: StructType): RecordDecoder =
    record => Moments.row(ByteBuffer.wrap(record).getLong)
}
