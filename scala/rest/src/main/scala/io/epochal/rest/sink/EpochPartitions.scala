package io.epochal.rest.sink

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFileSystem, FileSystem, Path}

import io.epochal.core.error.Conditions

/** Records how an epoch's rows were partitioned when first sent: `epochal-rest/<epoch>` in the query's checkpoint, which
  * holds one line, `{"v":1,"requests":"…"}`.
  *
  * Spark replays an epoch with the same rows, but not always in as many partitions (the number of cores decides), and it
  * does not know the options that cut rows into requests or name them. Any such change gives rows other keys, so the
  * first attempt writes down its partitioning before anything is sent, and a replay must match it.
  *
  * The file counts if and only if the line is complete: a partial line, left by a driver that died while writing, stands
  * for an epoch for which nothing was sent.
  *
  * @param checkpoint
  *   the query's
  */
final private[rest] class EpochPartitions(checkpoint: String, hadoop: => Configuration) {
  import EpochPartitions._

  private lazy val directory = new Path(checkpoint, Directory)

  /** Without the checksum files of a local disk: the line itself shows whether it is complete. */
  private lazy val fs: FileSystem = directory.getFileSystem(hadoop) match {
    case local: ChecksumFileSystem => local.getRawFileSystem
    case other                     => other
  }
  private var last = Option.empty[Long]

  /** @param requests
    *   everything that decides how rows are cut into requests
    * @return
    *   whether the epoch had begun before
    * @throws EpochalException
    *   EPOCH_PARTITIONING_CHANGED if it had begun with other `requests`
    */
  def hold(epoch: Long, requests: String): Boolean = {
    val line = s"""{"v":1,"requests":${Template.quoted(requests)}}\n"""
    val file = new Path(directory, epoch.toString)
    // Epochs of a run are consecutive; only its first one can be a replay.
    val known = if (last.exists(_ < epoch)) None else read(file)
    known.filter(_ != line).foreach { other =>
      val Line(previous) = other: @unchecked
      throw Conditions.EpochPartitioningChanged("epoch" -> epoch, "known" -> previous, "found" -> requests)
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

  /** Sets no permission: on a local disk that starts a process, which takes longer than everything else. */
  private def write(file: Path, line: String): Unit = {
    val out =
      fs.create(file, null, true, BufferSize, fs.getDefaultReplication(file), fs.getDefaultBlockSize(file), null)
    Using.resource(out)(_.write(line.getBytes(UTF_8)))
  }

  /** A failure only leaves a file behind. */
  private def forget(epoch: Long): Unit =
    if (epoch >= 0) { Try(fs.delete(new Path(directory, epoch.toString), false)): Unit }
}

private object EpochPartitions {
  private val Directory = "epochal-rest"

  /** More than the epochs that Spark may replay. */
  private val Kept = 100L

  private val BufferSize = 4096

  private val Line = """\{"v":1,"requests":"(.*)"\}\n""".r
}
