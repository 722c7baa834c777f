package io.epochal.kit.source

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumException, ChecksumFileSystem, FileSystem, Path}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.store.{HadoopFileStore, RealTimeRuns}

/** Remembers a stream's first offset in its part of the checkpoint (S11).
  *
  * Spark does not log where batch 0 starts: it asks `initialOffset` again when it replays that batch. The file is written
  * before the offset is first used, so that both answers are the same. It is valid if and only if it stands under its
  * final name; a crash before that leaves a file that is never read.
  *
  * @param checkpoint
  *   the directory that Spark hands the stream
  * @param name
  *   of the file: what else must be the same at every start is kept in a file of its own
  */
final class InitialOffset(checkpoint: String, hadoop: Configuration, name: String = InitialOffset.FileName) {

  private val directory = new Path(checkpoint)
  private val file = new Path(directory, name)

  /** The stream's number among the sources of its query, or the name that it was given there. */
  def source: String = directory.getName

  /** Another directory in the stream's part of the checkpoint, for its owner only. */
  def beside(name: String): HadoopFileStore = {
    val other = new Path(directory, name).toString
    new HadoopFileStore(other, hadoop, guarded = Some(other))
  }

  /** Of the stream. */
  def realTimeRuns: RealTimeRuns = RealTimeRuns.of(checkpoint, hadoop)

  /** What else must be the same at every start, in a file of this name. */
  def named(name: String): InitialOffset = new InitialOffset(checkpoint, hadoop, name)

  /** The offset remembered, else `first`, which is remembered from now on.
    *
    * @throws io.epochal.core.error.EpochalException
    *   OFFSET_INVALID, when the file is damaged
    */
  def orElse(first: => String): String = {
    val fs = file.getFileSystem(hadoop)
    if (!fs.exists(file)) {
      val text = first
      fs.mkdirs(directory)
      val unfinished = new Path(directory, s".$name.${UUID.randomUUID()}")
      Using.resource(fs.create(unfinished, false))(_.write(text.getBytes(UTF_8)))
      if (!fs.rename(unfinished, file)) fs.delete(unfinished, false)
    }
    checkChecksums(fs)
    try Using.resource(fs.open(file))(in => new String(in.readAllBytes(), UTF_8))
    catch { case _: ChecksumException => throw damaged }
  }

  /** Hadoop takes as much memory as the file of checksums says that one of them covers. */
  private def checkChecksums(fs: FileSystem): Unit = fs match {
    case checked: ChecksumFileSystem =>
      val (raw, sums) = (checked.getRawFileSystem, checked.getChecksumFile(file))
      if (raw.exists(sums)) Using.resource(raw.open(sums)) { in =>
        val head = in.readNBytes(InitialOffset.ChecksumsHead)
        if (head.length < InitialOffset.ChecksumsHead) throw damaged
        val covered = ByteBuffer.wrap(head).getInt(4)
        if (covered < 1 || covered > InitialOffset.MaxChecked) throw damaged
      }
    case _ =>
  }

  private def damaged: EpochalException = {
    val reason = "its bytes do not fit its checksum"
    Conditions.OffsetInvalid("format" -> "Epochal", "offset" -> file.toString, "reason" -> reason)
  }
}

object InitialOffset {
  private val FileName = "initial-offset"

  /** A version, and the number of bytes for each checksum. */
  private val ChecksumsHead = 8
  private val MaxChecked = 1 << 20
}
