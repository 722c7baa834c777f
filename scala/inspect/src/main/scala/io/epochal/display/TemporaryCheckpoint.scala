package io.epochal.display

import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener.{
  QueryProgressEvent,
  QueryStartedEvent,
  QueryTerminatedEvent
}
import org.slf4j.LoggerFactory

import io.epochal.kit.spark.SessionHadoop

/** A checkpoint for one run of a display. Only the driver's user can read it. It is removed when the query ends, also with an error;
  * a driver that is killed leaves it.
  *
  * The name of its directory marks it, so that nothing else is ever removed. Spark makes temporary checkpoints for its own sinks only.
  */
private[display] object TemporaryCheckpoint {
  val Prefix = "epochal-display-"

  private val log = LoggerFactory.getLogger(getClass.getName.stripSuffix("$"))

  /** Makes the directory, if it is a temporary one, before the query starts.
    *
    * @param session
    *   in which the query will start
    */
  def adopt(place: String, queryName: String, session: SparkSession): Unit = {
    val directory = new Path(place)
    if (directory.getName.startsWith(Prefix)) quietly {
      val fs = directory.getFileSystem(SessionHadoop.configuration)
      if (fs.mkdirs(directory, new FsPermission("700")))
        session.streams.addListener(new Removal(fs, directory, queryName, session))
    }
  }

  /** Ignores failures: what fails here fails in Spark, too, with a better message, or leaves a directory behind. */
  private def quietly(body: => Unit): Unit =
    try body
    catch { case NonFatal(error) => log.debug("the temporary checkpoint of a display was left alone", error) }

  final private class Removal(fs: FileSystem, directory: Path, queryName: String, session: SparkSession)
      extends StreamingQueryListener {
    @volatile private var run = Option.empty[UUID]

    override def onQueryStarted(event: QueryStartedEvent): Unit =
      if (run.isEmpty && event.name == queryName) run = Some(event.runId)

    override def onQueryProgress(event: QueryProgressEvent): Unit = ()

    override def onQueryTerminated(event: QueryTerminatedEvent): Unit = if (run.contains(event.runId)) {
      session.streams.removeListener(this)
      quietly(fs.delete(directory, true): Unit)
    }
  }
}
