package io.epochal.testkit.engine

import java.nio.file.Path
import java.util
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.connector.catalog.{Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Format that exposes a fixture's streams to queries in this process. Option `id`: the fixture's id. */
final class FixtureSource extends TableProvider {

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = FixtureSource.of(options.get("id"))._1

  override def getTable(schema: StructType, by: Array[Transform], settings: util.Map[String, String]): Table = {
    val (columns, newStream) = FixtureSource.of(settings.get("id"))
    new StreamTable("fixture", columns, util.EnumSet.of(TableCapability.MICRO_BATCH_READ))((_, checkpoint) =>
      newStream(Path.of(new HadoopPath(checkpoint).toUri.getPath)))
  }
}

private[testkit] object FixtureSource {

  private val all = new ConcurrentHashMap[String, (StructType, Path => MicroBatchStream)]

  def register(id: String, schema: StructType)(newStream: Path => MicroBatchStream): Unit =
    all.put(id, schema -> newStream): Unit

  def forget(id: String): Unit = all.remove(id): Unit

  private def of(id: String): (StructType, Path => MicroBatchStream) =
    Option(all.get(id)).getOrElse(throw new IllegalArgumentException(s"no fixture is registered as $id"))
}
