package io.epochal.testkit.engine

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Modifier, Proxy}
import java.net.URI
import java.util
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch}

import scala.jdk.CollectionConverters._

import org.apache.commons.lang3.ClassUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, RawLocalFileSystem}
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.connector.write.{Write, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The steps at which queries of this process pause: at most one per query, and only if armed. A query is identified by its scene's
  * directory.
  */
object Steps {

  final private case class Armed(step: Step, epoch: Long, reached: () => Unit, go: CountDownLatch)

  private val armed = new ConcurrentHashMap[String, Armed]

  /** Makes a query pause at a step of an epoch, where `reached` is called once. */
  private[engine] def arm(scene: String, step: Step, epoch: Long)(reached: => Unit): Unit =
    armed.put(scene, Armed(step, epoch, () => reached, new CountDownLatch(1))): Unit

  /** Lets a paused query continue. */
  private[engine] def go(scene: String): Unit = Option(armed.get(scene)).foreach(_.go.countDown())

  /** Called at each step of each query; returns immediately unless the step is armed. */
  private[engine] def at(scene: String, step: Step, epoch: Long): Unit =
    Option(armed.get(scene)).filter(one => one.step == step && one.epoch == epoch).foreach { one =>
      one.synchronized(if (one.go.getCount > 0) one.reached())
      // Ignores the interrupt of a stopping query: this process will be killed.
      while (one.go.getCount > 0)
        try one.go.await()
        catch { case _: InterruptedException => () }
    }
}

/** A step of an epoch at which a process can be killed. */
sealed abstract class Step(val claim: String) extends Serializable

object Step {
  case object BeforeOffsets extends Step("before the epoch's offsets are logged")
  case object AfterOffsets extends Step("after the epoch's offsets were logged")
  case object InTasks extends Step("while its tasks run")
  case object BeforeSinkCommit extends Step("after its tasks, before the sink's commit")
  case object InSinkCommit extends Step("during the sink's commit")
  case object BeforeCommitLog extends Step("after the sink's commit, before Spark's")
  case object AfterCommitLog extends Step("after Spark logged the commit")
}

/** Local file system for the checkpoints of the kit's queries. Pauses a query at a rename, by which Spark creates log entries.
  */
final class StepFileSystem extends RawLocalFileSystem {
  import StepFileSystem._

  override def getUri: URI = URI.create(s"$Scheme:///")

  override def getScheme: String = Scheme

  override def rename(from: Path, to: Path): Boolean = {
    def at(offsets: Step, commits: Step): Unit = to.toUri.getPath match {
      case Entry(scene, log, epoch) => Steps.at(scene, if (log == "offsets") offsets else commits, epoch.toLong)
      case _                        => ()
    }
    at(Step.BeforeOffsets, Step.BeforeCommitLog)
    val done = super.rename(from, to)
    at(Step.AfterOffsets, Step.AfterCommitLog)
    done
  }
}

private[testkit] object StepFileSystem {
  val Scheme = "epochal-steps"

  def register(hadoop: Configuration): Unit = hadoop.set(s"fs.$Scheme.impl", classOf[StepFileSystem].getName)

  private val Entry = "(.*)/checkpoint/(offsets|commits)/(\\d+)".r

  def uri(path: java.nio.file.Path): String = s"$Scheme://${path.toAbsolutePath}"
}

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
    stepped(other.getTable(columns, by, own(properties)), properties.get(Scene))
  }
}

private[testkit] object SteppedSink {
  val Format = "stepped.format"
  val Scene = "stepped.scene"

  private def own(options: util.Map[String, String]): util.Map[String, String] =
    options.asScala.filterNot { case (name, _) => name.startsWith("stepped.") }.asJava

  /** Dynamic proxy with all interfaces of `real` that forwards every call. Wraps the results that build a write, too. */
  private def stepped[A <: AnyRef](real: A, scene: String): A = {
    val handler: InvocationHandler = (proxy, method, arguments) => {
      if (real.isInstanceOf[StreamingWrite] && method.getName == "commit") {
        Steps.at(scene, Step.BeforeSinkCommit, arguments(0).asInstanceOf[Long])
        Steps.at(scene, Step.InSinkCommit, arguments(0).asInstanceOf[Long])
      }
      val result =
        try method.invoke(real, arguments: _*)
        catch { case e: InvocationTargetException => throw e.getCause }
      result match {
        case same if same eq real                                     => proxy
        case built @ (_: WriteBuilder | _: Write | _: StreamingWrite) => stepped(built, scene)
        case other                                                    => other
      }
    }
    val interfaces =
      ClassUtils.getAllInterfaces(real.getClass).asScala.filter(each => Modifier.isPublic(each.getModifiers))
    Proxy.newProxyInstance(real.getClass.getClassLoader, interfaces.toArray, handler).asInstanceOf[A]
  }
}
