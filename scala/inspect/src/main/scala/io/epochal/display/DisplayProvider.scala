package io.epochal.display

import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.apache.spark.sql.streaming.StreamingQueryListener._
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.slf4j.LoggerFactory

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.kit.sink.SinkProvider
import io.epochal.kit.spark.SessionHadoop

/** `format("epochal-display")`: a sink that keeps the last rows of a stream in the driver's memory, and a batch reader for them, for
  * Spark Connect clients, too. Used by `epochal.display`.
  *
  * Memory is bounded by `maxRows` and `maxBytes` per display, and freed once neither a query nor a view refers to the display. A row
  * larger than its task's share of `maxBytes` is counted and not kept.
  *
  * Not guaranteed: a display is a view and not a store. Rows of a failed attempt are never shown, but a restart begins with an empty
  * view, and the epoch that it replays may have been shown before.
  */
final class DisplayProvider extends SinkProvider[DisplaySettings](DisplaySettings.group) {

  /** Called for readers only: the display must exist. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    val settings = DisplaySettings.read(options.asCaseSensitiveMap.asScala.toMap).fold(throw _, identity)
    DisplayedRows
      .find(settings.display)
      .fold(throw DisplaySettings.group
        .invalid(DisplaySettings.Display, Redaction.Mask, "that of a display that this driver holds"))(_.schema)
  }

  override protected def unpartitioned: (String, String) = "a display has no partitions" -> "Leave partitionBy out."

  override protected def options(raw: Map[String, String]): Either[EpochalException, DisplaySettings] =
    DisplaySettings.read(raw)

  override protected def table(schema: StructType, settings: DisplaySettings): Table = {
    for (place <- settings.checkpoint; name <- settings.queryName)
      TemporaryCheckpoint.adopt(place, name, SparkSession.active)
    new DisplayTable(DisplayedRows.of(settings, schema))
  }
}

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
