package io.epochal.kit.source

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.{Offset, PartitionOffset, ReadLimit}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.{FileInput, FileOutput, FileStore}
import io.epochal.core.option.{OptionGroup, SourceOptions}

/** Event times of rows and offsets, without a session. */
final class EventTimeSuite extends AnyFunSuite {

  private val group = OptionGroup("test", "", SourceOptions.all)
  private val schema = StructType.fromDDL("id INT, At TIMESTAMP, day DATE, wall TIMESTAMP_NTZ, text STRING")
  private val noon = Instant.parse("2026-01-01T12:00:00Z")
  private val micros = noon.getEpochSecond * 1000000L

  private def refused(column: String, in: StructType = schema): Option[String] =
    group.parse(Map("eventTimeColumn" -> column)).toOption.flatMap(EventTimeColumn.refused(_, in)).map(_.getMessage)

  /** Rows are event times; positions count delivered rows. */
  final private class Times(val times: collection.mutable.Buffer[Option[Long]]) extends Source[Long] {
    override def name: String = "times"
    override def limit: ReadLimit = ReadLimit.allAvailable()
    override def first: Long = 0
    override def toJson(position: Long): String = s"""{"v":1,"rows":$position}"""
    override def fromJson(json: String): Either[EpochalException, Long] =
      Right("\"rows\":(\\d+)".r.findFirstMatchIn(json).get.group(1).toLong)
    override def readerFactory: PartitionReaderFactory = new TimesReaders(times.toVector)
    override def metrics(rowsBehind: Option[Long]): Map[String, String] = Map("own" -> "1")
    override val supply: Supply[Long] = new Supply[Long] {
      override def available(start: Long, most: Long): Long = math.min(most, times.size - start)
      override def take(start: Long, rows: Long): Long = start + rows
      override def partitions(start: Long, end: Long): Array[InputPartition] = Array(TimesPartition(start, end))
      override def rowsBefore(position: Long): Long = position
      override def known: Option[Extent] = Some(Extent(times.size.toLong, times.size.toLong))
      override def latest: Option[Long] = Some(times.size.toLong)
      override def release(end: Long): Unit = ()
    }
  }

  private def using(times: Option[Long]*)(body: (Times, () => SourceStream[Long]) => Any): Unit = {
    val checkpoint = Files.createTempDirectory("epochal-event-time")
    val source = new Times(times.toBuffer)
    val column = EventTimeColumn(0, isDate = false)
    def stream() = new SourceStream(
      source,
      new InitialOffset(checkpoint.toString, new Configuration()),
      new ManualClock(noon),
      Some(new EventTime(column, kept(checkpoint), new ManualClock(noon.plusSeconds(60))))
    )
    try body(source, () => stream()): Unit
    finally org.apache.commons.io.FileUtils.deleteDirectory(checkpoint.toFile)
  }

  private def kept(checkpoint: Path) =
    new KeptMark(new InitialOffset(checkpoint.toString, new Configuration()).beside(KeptMark.Directory))

  /** Runs a batch as Spark does. */
  private def run(stream: SourceStream[_], start: Offset, end: Offset): Unit =
    stream.planInputPartitions(start, end).foreach { partition =>
      val reader = stream.createReaderFactory().createReader(partition)
      while (reader.next()) { val _ = reader.get() }
      reader.close()
    }

  private def next(stream: SourceStream[_], start: Offset): Offset =
    stream.latestOffset(start, ReadLimit.allAvailable())

  private def metrics(stream: SourceStream[_], end: Offset): Map[String, String] =
    stream.metrics(Option(end).toJava).asScala.toMap

  test("a column is found by its name, in any case, if it has a time type") {
    assert(EventTimeColumn.of("at", schema).contains(EventTimeColumn(1, isDate = false)))
    assert(EventTimeColumn.of("day", schema).contains(EventTimeColumn(2, isDate = true)))
    assert(EventTimeColumn.of("wall", schema).contains(EventTimeColumn(3, isDate = false)))
    assert(refused("At").isEmpty && group.parse(Map.empty).toOption.flatMap(EventTimeColumn.refused(_, schema)).isEmpty)
    val both = StructType.fromDDL("at TIMESTAMP, AT TIMESTAMP")
    assert(EventTimeColumn.of("AT", both).exists(_.ordinal == 1) && EventTimeColumn.of("At", both).isEmpty)
  }

  test("a column of another type, or a missing one, is rejected with the columns that could be meant") {
    assert(refused("text").exists(_.contains("(it has At, day, wall)")))
    assert(refused("dayy").exists(_.contains("Did you mean eventTimeColumn=day?")))
    assert(refused("at", StructType.fromDDL("id INT")).exists(_.contains("(it has none)")))
  }

  test("a time is microseconds since 1970, a date is its midnight in UTC, and NULL has no event time") {
    val row = InternalRow(1, micros, 2, null, null)
    assert(EventTimeColumn(1, isDate = false).of(row) == micros)
    assert(EventTimeColumn(2, isDate = true).of(row) == 2L * 86400 * 1000000)
    assert(EventTimeColumn(3, isDate = false).of(row) == EventTimeColumn.Absent)
  }

  test("the mark is written beside the source's fields, before 1970 too, and read back") {
    Seq(micros, -1L, 0L).foreach { mark =>
      val json = EventTime.write("""{"v":1,"rows":3}""", Some(mark))
      assert(json.startsWith("""{"v":1,"rows":3,"eventTime":"""") && EventTime.read(json).contains(mark))
    }
    assert(EventTime.write("""{"rows":3}""", Some(micros)) == """{"rows":3,"eventTime":"2026-01-01T12:00:00Z"}""")
    assert(EventTime.write("{}", None) == "{}")
    Seq("{}", """{"eventTime":7}""", """{"eventTime":"noon"}""", "eventTime").foreach { text =>
      assert(EventTime.read(text).isEmpty, text)
    }
  }

  test("an offset has the mark before its batch, and the progress has the mark after it") {
    using(Some(micros), Some(micros - 5), None) { (source, open) =>
      val stream = open()
      val first = stream.initialOffset()
      val one = next(stream, first)
      assert(one.json == """{"v":1,"rows":3}""" && !metrics(stream, one).contains("eventTime"))
      run(stream, first, one)
      assert(metrics(stream, one).get("eventTime").contains("2026-01-01T12:00:00Z"))
      assert(metrics(stream, one).get("eventTimeLag").contains("60.000") && metrics(stream, one)("own") == "1")
      source.times += Some(micros + 1000000)
      val two = next(stream, one)
      assert(two.json == """{"v":1,"rows":4,"eventTime":"2026-01-01T12:00:00Z"}""")
    }
  }

  test("a mark that grows without new rows starts no batch") {
    using(Some(micros)) { (_, open) =>
      val stream = open()
      val first = stream.initialOffset()
      val one = next(stream, first)
      run(stream, first, one)
      assert(next(stream, one) == one)
      val logged = stream.deserializeOffset("""{"v":1,"rows":1,"eventTime":"2025-01-01T00:00:00Z"}""")
      assert(next(stream, logged) == logged)
    }
  }

  test("a restart resumes from the mark of its offset, and earlier rows do not lower it") {
    using(Some(micros - 10), Some(micros - 7)) { (_, open) =>
      val logged = """{"v":1,"rows":1,"eventTime":"2026-01-01T12:00:00Z"}"""
      val stream = open()
      val start = stream.deserializeOffset(logged)
      assert(start.json == logged)
      val end = next(stream, start)
      run(stream, start, end)
      assert(end.json == """{"v":1,"rows":2,"eventTime":"2026-01-01T12:00:00Z"}""")
      assert(metrics(stream, end)("eventTime") == "2026-01-01T12:00:00Z")
    }
  }

  test("a run that ends leaves its mark to the next one, and replaces a lower one") {
    using(Some(micros), Some(micros + 2000000)) { (source, open) =>
      val late = source.times.remove(1)
      val (one, two) = (open(), open())
      val first = one.initialOffset()
      val end = next(one, first)
      run(one, first, end)
      one.stop()
      source.times += late
      val again = open()
      assert(metrics(again, end)("eventTime") == "2026-01-01T12:00:00Z")
      val more = next(again, again.deserializeOffset(end.json))
      assert(more.json == """{"v":1,"rows":2,"eventTime":"2026-01-01T12:00:00Z"}""")
      run(again, end, more)
      again.stop()
      two.stop()
      assert(metrics(open(), more)("eventTime") == "2026-01-01T12:00:02Z")
    }
  }

  test("a mark that cannot be stored stops nothing") {
    val full = new MemoryFiles
    val mark = new KeptMark(full)
    mark.write(5)
    full.broken = true
    mark.write(7)
    assert(mark.read().isEmpty)
    full.broken = false
    assert(mark.read().contains(5L))
    mark.write(-3)
    mark.write(9)
    assert(full.names() == Seq("9"))
  }

  test("an offset of a query without an event time column is resumed") {
    using(Some(micros), Some(micros)) { (_, open) =>
      val stream = open()
      val start = stream.deserializeOffset("""{"v":1,"rows":1}""")
      assert(start.json == """{"v":1,"rows":1}""" && next(stream, start).json == """{"v":1,"rows":2}""")
    }
  }

  test("endless readers report the mark with their offsets, and the merged offset has the highest") {
    val column = EventTimeColumn(0, isDate = false)
    val readers = Seq(Seq(5L, 9L, 7L), Seq(3L)).map { times =>
      val reader = new EndlessEventTimeReader(new EndlessTimes(times), column)
      while (reader.next(0)) { val _ = reader.get() }
      reader.offset
    }
    assert(readers == Seq(MarkedPartitionOffset(RowCount(3), 9), MarkedPartitionOffset(RowCount(1), 3)))
    val nothing = new EndlessEventTimeReader(new EndlessTimes(Nil), column)
    assert(nothing.offset == MarkedPartitionOffset(RowCount(0), EventTimeColumn.Absent))
  }
}

final private case class TimesPartition(start: Long, end: Long) extends InputPartition

final private class TimesReaders(times: Vector[Option[Long]]) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case TimesPartition(start, end) =>
      new PartitionReader[InternalRow] {
        private var at = start - 1
        override def next(): Boolean = { at += 1; at < end }
        override def get(): InternalRow = InternalRow(times(at.toInt).orNull)
        override def close(): Unit = ()
      }
    case other => throw new IllegalArgumentException(other.toString)
  }
}

/** Files without content. */
final private class MemoryFiles extends FileStore {
  private var files = Set.empty[String]
  var broken = false

  private def working[A](body: => A): A = if (broken) throw new java.io.IOException("the disk is full") else body

  override def create(name: String): FileOutput = working {
    files += name
    new FileOutput {
      override def write(bytes: Array[Byte], from: Int, length: Int): Unit = ()
      override def sync(): Unit = ()
      override def close(): Unit = ()
    }
  }
  override def open(name: String): FileInput = throw new UnsupportedOperationException
  override def exists(name: String): Boolean = files(name)
  override def names(): Seq[String] = working(files.toSeq)
  override def delete(name: String): Unit = working(files -= name)
}

final private case class RowCount(rows: Int) extends PartitionOffset

final private class EndlessTimes(times: Seq[Long]) extends EndlessReader {
  private var count = 0
  override def next(timeoutMillis: Long): Boolean = count < times.size && { count += 1; true }
  override def get(): InternalRow = InternalRow(times(count - 1))
  override def offset: PartitionOffset = RowCount(count)
  override def close(): Unit = ()
}
