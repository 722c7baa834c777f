package io.epochal.kit.source

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumException, ChecksumFileSystem, FileSystem, Path, StreamCapabilities}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.kit.store.{HadoopFileStore, LoggedEpochs, RealTimeRuns}

/** Stores a stream's first offset in its part of the checkpoint.
  *
  * Spark does not log where batch 0 starts: it calls `initialOffset` again when it replays that batch. The file is durable
  * before the offset is first used, so that both calls return the same. It is valid if and only if it has its final name; a
  * crash before that leaves a file that is never read.
  *
  * @param checkpoint
  *   the stream's directory, from Spark
  * @param name
  *   of the file: other values that must be the same at every start have files of their own
  */
final class InitialOffset(checkpoint: String, hadoop: Configuration, name: String = InitialOffset.FileName) {

  private val directory = new Path(checkpoint)
  private val file = new Path(directory, name)

  /** The stream's number among the sources of its query, or its name there. */
  def source: String = directory.getName

  /** Another directory in the stream's part of the checkpoint, for one owner. */
  def beside(name: String): HadoopFileStore = {
    val other = new Path(directory, name).toString
    new HadoopFileStore(other, hadoop, guardedPath = Some(other))
  }

  /** The epochs of the stream's query; None if this is no query's checkpoint. */
  def epochs: Option[LoggedEpochs] = LoggedEpochs.of(directory, hadoop)

  def realTimeRuns: RealTimeRuns = RealTimeRuns.of(checkpoint, hadoop)

  /** Another value that must be the same at every start, in a file of this name. */
  def named(name: String): InitialOffset = new InitialOffset(checkpoint, hadoop, name)

  /** The stored offset, else `first`, which is then stored.
    *
    * @param constant
    *   whether `first` is the same at every start, so that it can replace a damaged file
    * @param fits
    *   whether a stored one belongs to this start. Another one is replaced as long as the query has logged no epoch: an earlier
    *   start may have failed before it read anything
    * @param remains
    *   what the start of a replaced one has left elsewhere, for the log
    * @throws io.epochal.core.error.EpochalException
    *   OFFSET_INVALID, if the file is damaged
    */
  def orElse(
      first: => String,
      constant: Boolean = false,
      fits: String => Boolean = _ => true,
      remains: String => Option[String] = _ => None): String = {
    val fs = file.getFileSystem(hadoop)
    def rewrite(why: String): String = {
      InitialOffset.log.warn(s"$why It is written again.")
      fs.delete(file, false): Unit
      write(fs, first)
      read(fs)
    }
    if (!fs.exists(file)) {
      write(fs, first)
      Failpoints.reach(Failpoint.FirstOffset)
    }
    try {
      val storedText = read(fs)
      if (fits(storedText) || !isUnused) storedText
      else {
        val text = s"$file is of a start with other options, which failed before anything was read."
        rewrite((text +: remains(storedText).toSeq).mkString(" "))
      }
    } catch { case error: EpochalException if constant => rewrite(error.problem) }
  }

  /** Whether no run of the query has logged an epoch, or has begun one that is logged at its end. */
  private def isUnused: Boolean = epochs.exists(_.isEmpty) && !realTimeRuns.began(0)

  private def write(fs: FileSystem, text: String): Unit = {
    fs.mkdirs(directory)
    val partial = new Path(directory, s".$name.${UUID.randomUUID()}")
    Using.resource(fs.create(partial, false)) { out =>
      out.write(text.getBytes(UTF_8))
      if (out.hasCapability(StreamCapabilities.HSYNC)) out.hsync()
    }
    val local = new HadoopFileStore(directory.toString, hadoop)
    local.settle((partial +: checksums(fs, partial).toSeq).map(_.getName))
    if (!fs.rename(partial, file)) fs.delete(partial, false): Unit
    local.settle(Nil)
  }

  private def read(fs: FileSystem): String = {
    checkChecksums(fs)
    val text =
      try Using.resource(fs.open(file))(in => new String(in.readAllBytes(), UTF_8))
      catch { case _: ChecksumException => throw damage }
    // The remains of a file whose bytes were not yet on the disk when the power failed.
    if (text.forall(_ == 0)) throw damage
    text
  }

  private def checksums(fs: FileSystem, of: Path): Option[Path] = fs match {
    case files: ChecksumFileSystem => Some(files.getChecksumFile(of)).filter(files.getRawFileSystem.exists)
    case _                         => None
  }

  /** Hadoop allocates as much memory as the checksum file claims for one chunk. */
  private def checkChecksums(fs: FileSystem): Unit = fs match {
    case files: ChecksumFileSystem =>
      val (raw, sums) = (files.getRawFileSystem, files.getChecksumFile(file))
      if (raw.exists(sums)) Using.resource(raw.open(sums)) { in =>
        val head = in.readNBytes(InitialOffset.ChecksumsHead)
        if (head.length < InitialOffset.ChecksumsHead) throw damage
        val chunkBytes = ByteBuffer.wrap(head).getInt(4)
        if (chunkBytes < 1 || chunkBytes > InitialOffset.MaxChecked) throw damage
      }
    case _ =>
  }

  private def damage: EpochalException = {
    val reason = "its bytes are not those that were written"
    Conditions.OffsetInvalid("format" -> "Epochal", "offset" -> file.toString, "reason" -> reason)
  }
}

object InitialOffset {
  private val log = LoggerFactory.getLogger(classOf[InitialOffset])
  private val FileName = "initial-offset"

  /** The version, and the number of bytes per checksum. */
  private val ChecksumsHead = 8
  private val MaxChecked = 1 << 20
}
