package io.epochal.random

import java.nio.file.{Files, Path, StandardCopyOption}
import java.time.{Clock, Instant, ZoneId, ZoneOffset}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{Batch, InputPartition}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.tags.Slow

import io.epochal.kit.source._
import io.epochal.support.QueryConformance
import io.epochal.testkit.{Conformance, FormatSource}

/** The source in queries that are stopped, killed and run in other modes. A file replaces the clock. */
@Slow
final class RandomQueryConformanceSuite
    extends QueryConformance(Conformance.source("epochal-random in queries", () => new ClockedFixture))

final class ClockedFixture extends FormatSource(classOf[ClockedRandom].getName) {
  private val directory = Files.createTempDirectory("epochal-random")
  private val file = directory.resolve("rows")
  private var rows = 0

  private def of(seed: Int) = util.Map.of("clock", file.toString, "seed", seed.toString, "minLength", "1")

  override def options: util.Map[String, String] = of(seed = 0)

  override def optionsOfAnotherSource: util.Map[String, String] = of(seed = 1)

  override def partitionsOption: String = "numPartitions"

  override def modes: util.Set[String] = util.Set.of("continuous", "real-time")

  override def makeAvailable(more: Int): Unit = {
    rows += more
    val partial = Files.writeString(directory.resolve("rows.new"), rows.toString)
    Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE): Unit
  }

  override def close(): Unit = org.apache.commons.io.FileUtils.deleteDirectory(directory.toFile)
}

/** Clock whose time is in a file, in seconds since 1970. */
final private class FileClock(file: Path) extends Clock {
  def rows: Long = if (Files.exists(file)) Files.readString(file).toLong else 0L

  override def instant(): Instant = Instant.ofEpochSecond(rows)
  override def getZone: ZoneId = ZoneOffset.UTC
  override def withZone(zone: ZoneId): Clock = this
}

/** `epochal-random` with the option `clock`, the file. */
final class ClockedRandom extends TableProvider {

  override def supportsExternalMetadata(): Boolean = true

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = RandomProvider.schema

  override def getTable(schema: StructType, by: Array[Transform], raw: util.Map[String, String]): Table = {
    val file = Path.of(raw.get("clock"))
    val options = RandomOptions.read(raw.asScala.toMap - "clock" + ("rowsPerSecond" -> "1")).fold(throw _, identity)
    val scan = () => new ClockedScan(options, file)
    new SourceTable("clocked", schema, () => () => scan(), continuous = true)
  }
}

final private class ClockedScan(options: RandomOptions, file: Path)
    extends SourceScan[RandomPosition]("clocked", RandomProvider.schema, new FileClock(file)) {

  override protected def batch: Batch = throw new UnsupportedOperationException("a batch")

  override protected def source(checkpoint: InitialOffset): Source[RandomPosition] =
    new RandomSource(options, 2, new FileClock(file)) {
      // The rate counts from 0, not from the query's first start.
      override def first: RandomPosition = options.begin(0)
      override def endlessReaders: EndlessReaderFactory = new ClockedReaders(super.endlessReaders, file.toString)
    }
}

/** Endless tasks use the wall clock, by which all rows are due: this holds rows back until the file's clock reaches them. */
final private class ClockedReaders(real: EndlessReaderFactory, file: String) extends EndlessReaderFactory {

  override def createReader(partition: InputPartition): EndlessReader = new EndlessReader {
    private val reader = real.createReader(partition)
    private val clock = new FileClock(Path.of(file))

    private def nextId: Long = reader.offset match {
      case at: RandomPartitionOffset => at.base.rows + at.partition + at.count * at.of
      case other                     => throw new IllegalStateException(s"not an offset of ours: $other")
    }

    override def next(timeoutMillis: Long): Boolean = {
      val begin = System.nanoTime()
      while (clock.rows <= nextId && (System.nanoTime() - begin) / 1000000 < timeoutMillis) Thread.sleep(5)
      clock.rows > nextId && reader.next(timeoutMillis)
    }

    override def get(): InternalRow = reader.get()
    override def offset: PartitionOffset = reader.offset
    override def close(): Unit = reader.close()
  }
}
