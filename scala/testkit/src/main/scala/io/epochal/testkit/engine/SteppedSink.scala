package io.epochal.testkit.engine

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Modifier, Proxy}
import java.util

import scala.jdk.CollectionConverters._

import org.apache.commons.lang3.ClassUtils
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.connector.write.{Write, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Wrapper around another sink that can pause a query before the sink's commit. Forwards all calls.
  *
  * Options: `stepped.format`, the other sink; `stepped.scene`, the query's directory; the rest goes to the other sink.
  */
final class SteppedSink extends TableProvider {
  import SteppedSink._

  override def supportsExternalMetadata(): Boolean = true

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    Formats.provider(options.get(Format)).inferSchema(new CaseInsensitiveStringMap(own(options)))

  override def getTable(schema: StructType, by: Array[Transform], properties: util.Map[String, String]): Table = {
    val other = Formats.provider(properties.get(Format))
    val columns =
      if (other.supportsExternalMetadata()) schema else other.inferSchema(new CaseInsensitiveStringMap(own(properties)))
    step(other.getTable(columns, by, own(properties)), properties.get(Scene))
  }
}

private[testkit] object SteppedSink {
  val Format = "stepped.format"
  val Scene = "stepped.scene"

  private def own(options: util.Map[String, String]): util.Map[String, String] =
    options.asScala.filterNot { case (name, _) => name.startsWith("stepped.") }.asJava

  /** Dynamic proxy with all interfaces of `real` that forwards every call. Wraps the results that build a write, too. */
  private def step[A <: AnyRef](real: A, scene: String): A = {
    val handler: InvocationHandler = (proxy, method, arguments) => {
      if (real.isInstanceOf[StreamingWrite] && method.getName == "commit") {
        Steps.at(scene, KillStep.BeforeSinkCommit, arguments(0).asInstanceOf[Long])
        Steps.at(scene, KillStep.InSinkCommit, arguments(0).asInstanceOf[Long])
      }
      val result =
        try method.invoke(real, arguments: _*)
        catch { case e: InvocationTargetException => throw e.getCause }
      result match {
        case same if same eq real                                     => proxy
        case built @ (_: WriteBuilder | _: Write | _: StreamingWrite) => step(built, scene)
        case other                                                    => other
      }
    }
    val interfaces =
      ClassUtils.getAllInterfaces(real.getClass).asScala.filter(each => Modifier.isPublic(each.getModifiers))
    Proxy.newProxyInstance(real.getClass.getClassLoader, interfaces.toArray, handler).asInstanceOf[A]
  }
}
