package io.epochal.testkit.engine

import java.nio.file.Path
import java.util
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.connector.catalog.{Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Format that exposes a fixture's streams to queries in this process. Option `id`: the fixture's id. */
final class FixtureSource extends TableProvider {

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = FixtureSource.of(options.get("id")).schema

  override def getTable(schema: StructType, by: Array[Transform], settings: util.Map[String, String]): Table = {
    val fixture = FixtureSource.of(settings.get("id"))
    new StreamTable("fixture", fixture.schema, util.EnumSet.of(TableCapability.MICRO_BATCH_READ))(_ =>
      new Scan {
        override def readSchema(): StructType = fixture.schema
        override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
          fixture.newStream(Path.of(new HadoopPath(checkpoint).toUri.getPath))
      })
  }
}

private[testkit] object FixtureSource {

  final case class Made(schema: StructType, newStream: Path => MicroBatchStream)

  private val all = new ConcurrentHashMap[String, Made]

  def register(id: String, made: Made): Unit = { val _ = all.put(id, made) }

  def forget(id: String): Unit = { val _ = all.remove(id) }

  private def of(id: String): Made =
    Option(all.get(id)).getOrElse(throw new IllegalArgumentException(s"no fixture is registered as $id"))
}
