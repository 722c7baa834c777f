package io.epochal.kit.source.journal

import java.io.{EOFException, IOException}
import java.net.InetAddress
import java.nio.file.NoSuchFileException

import scala.collection.mutable
import scala.util.{Try, Using}

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.{FileInput, FileStore, Journal, JournalDamage, ParallelReads, Slice}
import io.epochal.kit.spark.QueryStop

/** The frames of a task's slices, in order, on an executor. A damaged frame is a loss of its rows. A segment that cannot be
  * opened is not: it existed when the driver planned the task.
  *
  * @param slices
  *   may return more after it was empty: reading then continues
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
) extends Frames {

  /** Maximum bytes read ahead from an object store. */
  final private val FetchedBytes = 16L << 20
  final private val FetchedFiles = 4 * ParallelReads.Width

  private val log = LoggerFactory.getLogger(classOf[JournalFrames])
  private var file = Option.empty[(String, FileInput)]

  /** Slices read ahead from an object store, each with its part of the file. */
  private val fetched = mutable.Queue.empty[(Slice, FileInput)]

  /** Reads the next intact frame. */
  @scala.annotation.tailrec
  override def next(into: Int => Array[Byte]): Option[Slice] = {
    if (fetched.isEmpty && !store.syncsOpenFiles) fetch()
    if (fetched.isEmpty && !slices.hasNext) {
      // A file that is still being written is longer when it is reopened.
      close()
      None
    } else {
      val (slice, input) =
        if (fetched.nonEmpty) fetched.dequeue()
        else {
          val slice = slices.next()
          (slice, opened(slice.segment))
        }
      if (isRead(slice, input, into)) Some(slice) else next(into)
    }
  }

  override def close(): Unit = {
    file.foreach(_._2.close())
    file = None
  }

  /** Reads many small files of an object store together, each by one request. */
  private def fetch(): Unit = {
    val parts = mutable.ArrayBuffer.empty[Vector[Slice]]
    var bytes = 0L
    while (slices.hasNext && bytes < FetchedBytes && parts.sizeIs < FetchedFiles) {
      val slice = slices.next()
      bytes += slice.frame.length
      if (parts.lastOption.exists(_.last.segment == slice.segment)) parts(parts.size - 1) :+= slice
      else parts += Vector(slice)
    }
    ParallelReads(parts.toSeq)(part)(fetched ++= _)
  }

  /** A part of a file; of a file that is cut off, each frame by itself. */
  private def part(slices: Vector[Slice]): Vector[(Slice, FileInput)] = {
    val (from, until) = (slices.head.frame.position, slices.last.frame.position + slices.last.frame.length)
    try
      Using.resource(store.open(slices.head.segment, until)) { whole =>
        val input = FileInput.of(FileInput.bytes(whole, from, until), from)
        slices.map(_ -> input)
      }
    catch {
      case _: EOFException if slices.size > 1             => slices.flatMap(slice => part(Vector(slice)))
      case _: EOFException                                => slices.map(_ -> FileInput.of(Array.emptyByteArray))
      case e: IOException if !QueryStop.isInterruption(e) => throw unseen(e)
    }
  }

  private def isRead(slice: Slice, input: FileInput, into: Int => Array[Byte]): Boolean =
    try {
      Journal.read(input, slice)(into)
      true
    } catch {
      case damage: JournalDamage =>
        log.warn(lost(slice.first, slice.first + slice.take, damage.getMessage))
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
