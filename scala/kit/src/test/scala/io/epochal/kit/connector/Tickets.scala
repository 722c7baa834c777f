package io.epochal.kit.connector

import java.lang.{Long => JavaLong}
import java.nio.ByteBuffer
import java.util
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType

import io.epochal.core.option.OptionSpec

/** Queues of numbers in this JVM, by name. */
object Tickets {
  final class Machine {
    val size = new AtomicLong
    @volatile var released = 0L
  }

  private val machines = new ConcurrentHashMap[String, Machine]

  def machine(name: String): Machine = machines.computeIfAbsent(name, _ => new Machine)

  val Name: OptionSpec[String] = Options.text("machine", "Name of the queue.").asRequired
}

/** The smallest receiving source: numbers from 0 on, which can be received until they are released. */
final class Tickets
    extends ReceivingConnector[JavaLong]("tickets", "Numbers, given once.", util.List.of(Tickets.Name)) {
  override def schema(settings: Settings): StructType = StructType.fromDDL("id BIGINT")
  override def identity(settings: Settings): String = settings.get(Tickets.Name)
  override def positions: PositionFormat[JavaLong] = PositionFormat.number()

  override def open(settings: Settings, schema: StructType): Receiver[JavaLong] = {
    val machine = Tickets.machine(settings.get(Tickets.Name))
    new Receiver[JavaLong] {
      override def first(): JavaLong = 0L

      override def receive(cursor: JavaLong, maxRecords: Int): Received[JavaLong] = {
        if (cursor < machine.released) throw new IllegalStateException(s"${machine.released} tickets are gone")
        val end = math.min(machine.size.get, cursor + math.min(maxRecords, 3))
        val records = (cursor.longValue until end).map(n => ByteBuffer.allocate(8).putLong(n).array)
        new Received(records.asJava, end, end == machine.size.get)
      }

      override def release(cursor: JavaLong): Unit = machine.released = cursor
    }
  }

  override def decoder(settings: Settings, schema: StructType): RecordDecoder =
    record => Array(Long.box(ByteBuffer.wrap(record).getLong))
}
