package io.epochal.kit.source

import java.lang.reflect.InvocationTargetException
import java.time.Clock

import scala.util.Try

/** Real-time mode is there from Spark 4.1 on. What names its interfaces is in `kit.source.realtime`, and is loaded only where they
  * exist: this is the one place that knows.
  */
private[source] object RealTime {
  private val Interface = "org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode"
  private val Stream = "io.epochal.kit.source.realtime.RealTimeSourceStream"

  private lazy val stream: Option[Class[_]] = {
    val loader = getClass.getClassLoader
    Try(Class.forName(Interface, false, loader)).toOption.map(_ => Class.forName(Stream, true, loader))
  }

  /** The stream of a source in micro-batches and, where Spark has it, in real-time mode. */
  def stream[P](source: ContinuousSource[P], initial: InitialOffset, clock: Clock): SourceStream[P] =
    stream.fold(new SourceStream(source, initial, clock)) { found =>
      try found.getConstructors.head.newInstance(source, initial, clock).asInstanceOf[SourceStream[P]]
      catch { case e: InvocationTargetException => throw e.getCause }
    }
}
