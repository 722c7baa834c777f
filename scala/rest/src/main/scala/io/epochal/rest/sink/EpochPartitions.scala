package io.epochal.rest.sink

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFileSystem, FileSystem, Path}

import io.epochal.core.error.Conditions

/** How an epoch's rows were dealt out when they were first sent: `epochal-rest/<epoch>` in the query's checkpoint, which holds
  * one line, `{"v":1,"requests":"…"}`.
  *
  * Spark repeats an epoch with the same rows, but not always in as many partitions (that follows from the number of cores), nor
  * does it know the options that cut rows into requests, or name them. Any of it gives rows other keys, so the first attempt
  * writes down what it went by, before anything is sent, and a later one is held to it.
  *
  * The file counts if and only if it has the whole line: one that was being written when the driver died stands for an
  * epoch of which nothing was sent.
  *
  * @param checkpoint
  *   the query's
  */
final private[rest] class EpochPartitions(checkpoint: String, hadoop: => Configuration) {
  import EpochPartitions._

  private lazy val directory = new Path(checkpoint, Directory)

  /** Without the files of checksums that a local disk gets: the line itself tells whether it is whole. */
  private lazy val fs: FileSystem = directory.getFileSystem(hadoop) match {
    case local: ChecksumFileSystem => local.getRawFileSystem
    case other                     => other
  }
  private var last = Option.empty[Long]

  /** @param requests
    *   what the cutting of rows into requests follows from
    * @return
    *   whether the epoch was begun before
    * @throws EpochalException
    *   EPOCH_PARTITIONING_CHANGED, when it was begun otherwise
    */
  def hold(epoch: Long, requests: String): Boolean = {
    val line = s"""{"v":1,"requests":${Template.quoted(requests)}}\n"""
    val file = new Path(directory, epoch.toString)
    // Within a run epochs follow each other; only its first one can have been begun before.
    val known = if (last.exists(_ < epoch)) None else read(file)
    known.filter(_ != line).foreach { other =>
      val Line(told) = other: @unchecked
      throw Conditions.EpochPartitioningChanged("epoch" -> epoch, "known" -> told, "found" -> requests)
    }
    if (known.isEmpty) {
      write(file, line)
      forget(epoch - Kept)
    }
    last = Some(epoch)
    known.nonEmpty
  }

  private def read(file: Path): Option[String] = {
    val text =
      try Using.resource(fs.open(file))(in => new String(in.readAllBytes(), UTF_8))
      catch { case _: FileNotFoundException => "" }
    Option(text).filter(Line.matches)
  }

  /** No permission is set: on a local disk that starts a program, which takes longer than all the rest. */
  private def write(file: Path, line: String): Unit = {
    val out =
      fs.create(file, null, true, BufferSize, fs.getDefaultReplication(file), fs.getDefaultBlockSize(file), null)
    Using.resource(out)(_.write(line.getBytes(UTF_8)))
  }

  /** A failure costs nothing but a file. */
  private def forget(epoch: Long): Unit =
    if (epoch >= 0) { Try(fs.delete(new Path(directory, epoch.toString), false)): Unit }
}

private object EpochPartitions {
  private val Directory = "epochal-rest"

  /** More than the epochs that Spark may repeat. */
  private val Kept = 100L

  private val BufferSize = 4096

  private val Line = """\{"v":1,"requests":"(.*)"\}\n""".r
}
