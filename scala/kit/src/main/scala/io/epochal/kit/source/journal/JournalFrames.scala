package io.epochal.kit.source.journal

import java.io.IOException
import java.net.InetAddress
import java.nio.file.NoSuchFileException

import scala.util.Try

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.{FileInput, FileStore, Journal, JournalDamage, Slice}
import io.epochal.kit.spark.QueryStop

/** The frames of a task's slices, in order, on an executor. A frame that is not what was written is a loss of its rows. A segment
  * that cannot be opened is none: the driver saw it when it planned the task.
  *
  * @param slices
  *   may have more when it had none: what follows an end reads on then
  * @param source
  *   the identity that offsets carry
  * @param lost
  *   as in [[SourceJournal]]
  */
final class JournalFrames(
    slices: Iterator[Slice],
    store: FileStore,
    source: String,
    lost: (Long, Long, String) => String
) extends AutoCloseable {

  private var file = Option.empty[(String, FileInput)]

  /** Reads the next frame that is whole; None where there is none now.
    *
    * @param into
    *   gives an array with room for so many bytes
    * @return
    *   which of its rows are wanted
    */
  @scala.annotation.tailrec
  def next(into: Int => Array[Byte]): Option[Slice] =
    if (!slices.hasNext) {
      // One that is still written to is longer when it is opened again.
      close()
      None
    } else {
      val slice = slices.next()
      if (isRead(slice, into)) Some(slice) else next(into)
    }

  override def close(): Unit = {
    file.foreach(_._2.close())
    file = None
  }

  private def isRead(slice: Slice, into: Int => Array[Byte]): Boolean =
    try {
      Journal.read(opened(slice.segment), slice)(into)
      true
    } catch {
      case damage: JournalDamage =>
        JournalFrames.log.warn(lost(slice.first, slice.first + slice.take, damage.getMessage))
        false
    }

  private def opened(segment: String): FileInput =
    file.collect { case (name, input) if name == segment => input }.getOrElse {
      close()
      val input =
        try store.open(segment)
        catch { case e: IOException if !QueryStop.isInterruption(e) => throw unseen(e) }
      file = Some(segment -> input)
      input
    }

  private def unseen(error: IOException): EpochalException = {
    val reason = error match {
      case _: NoSuchFileException => "it is not there"
      case _                      => Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
    }
    val host = Try(InetAddress.getLocalHost.getHostName).getOrElse("its host is not known")
    Conditions.JournalNotShared
      .because(error)("host" -> host, "source" -> source, "path" -> store, "reason" -> reason)
  }
}

private object JournalFrames {
  private val log = LoggerFactory.getLogger(classOf[JournalFrames])
}
