package io.epochal.kit.source

import java.lang.reflect.InvocationTargetException
import java.time.Clock

import scala.util.Try

/** The seam for real-time mode, which Spark has from 4.1 on. Classes that name its interfaces are in `kit.source.realtime`, and
  * are loaded only if they exist; only this object knows.
  */
private[epochal] object RealTime {
  private val Interface = "org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode"
  private val Stream = "io.epochal.kit.source.realtime.RealTimeSourceStream"

  private lazy val stream: Option[Class[_]] = {
    val loader = getClass.getClassLoader
    Try(Class.forName(Interface, false, loader)).toOption.map(_ => Class.forName(Stream, true, loader))
  }

  /** The stream of a source in micro-batches and, if Spark has it, in real-time mode. */
  def stream[P](
      source: ContinuousSource[P],
      initial: InitialOffset,
      clock: Clock,
      eventTime: Option[EventTime]): SourceStream[P] =
    stream.fold(new SourceStream(source, initial, clock, eventTime)) { realTime =>
      try realTime.getConstructors.head.newInstance(source, initial, clock, eventTime).asInstanceOf[SourceStream[P]]
      catch { case e: InvocationTargetException => throw e.getCause }
    }
}
