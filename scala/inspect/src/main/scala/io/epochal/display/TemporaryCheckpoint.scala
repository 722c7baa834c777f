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

/** Checkpoint for one run of a display, readable by the driver's user only. It is removed when the query ends or fails; a killed
  * driver leaves it behind.
  *
  * Its directory has a reserved name, so no other directory is ever removed. Spark creates temporary checkpoints for its own sinks
  * only.
  */
private[display] object TemporaryCheckpoint {
  val Prefix = "epochal-display-"

  private val log = LoggerFactory.getLogger(getClass.getName.stripSuffix("$"))

  /** Creates the directory before the query starts, if `place` is a temporary checkpoint, and registers its removal.
    *
    * @param session
    *   the session in which the query will start
    */
  def adopt(place: String, queryName: String, session: SparkSession): Unit = {
    val directory = new Path(place)
    if (directory.getName.startsWith(Prefix)) quietly {
      val fs = directory.getFileSystem(SessionHadoop.configuration)
      if (fs.mkdirs(directory, new FsPermission("700")))
        session.streams.addListener(new Removal(fs, directory, queryName, session))
    }
  }

  /** Ignores failures: they recur in Spark with a better message, or only leave a directory behind. */
  private def quietly(body: => Unit): Unit =
    try body
    catch { case NonFatal(error) => log.debug("cannot create or remove a display's checkpoint", error) }

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
