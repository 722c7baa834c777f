package io.epochal.kit.connector

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException

/** An origin that the first call opens, and calls of it. */
final private[connector] class OriginCalls[P](open: () => Origin[P], author: AuthorCalls) extends AutoCloseable {
  @volatile private var isOpen = false

  private lazy val origin: Origin[P] = {
    val origin = author("opened its origin")(open())
    isOpen = true
    origin
  }

  def apply[A](step: String)(body: Origin[P] => A): A = author(step)(body(origin))

  def once[A](step: String)(body: => A): A = author.once(step)(body)

  /** Opens a reader of the origin; if that fails, the origin is closed. */
  def opened[A](step: String)(body: Origin[P] => A): A =
    try apply(step)(body)
    catch {
      case error: Throwable =>
        close()
        throw error
    }

  /** Closes a reader of the origin, and then the origin. */
  def closed(reader: AutoCloseable): Unit =
    try once("closed a partition")(reader.close())
    finally close()

  def tail: TailOrigin[P] = origin match {
    case tail: TailOrigin[P] => tail
    case _                   => throw invalid("open", "its tails() is true, and its origin is no TailOrigin")
  }

  def invalid(member: String, reason: String): EpochalException = author.invalid(member, reason)

  def metrics: Map[String, String] =
    Map("retries" -> author.repeated.toString) ++
      (if (isOpen) author.once("gave its metrics")(origin.metrics().asScala) else Nil)

  override def close(): Unit = if (isOpen) author.once("closed its origin")(origin.close())
}

private[connector] object OriginCalls {

  def open[P](connector: SourceConnector[P], settings: Settings, schema: StructType): OriginCalls[P] =
    new OriginCalls(() => connector.open(settings, schema), connector.calls(settings))

  def inTask[P](task: ConnectorInTask[SourceConnector[P]]): (PositionFormat[P], OriginCalls[P]) = {
    val connector = task.connector
    (connector.positions, open(connector, connector.settings(task.raw), task.schema))
  }
}
