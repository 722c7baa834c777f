package io.epochal.checkpoint

import java.io.{FileNotFoundException, IOException}
import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.source.{KeptMark, StoredMark}
import io.epochal.kit.store.LoggedEpochs

/** Reads a checkpoint directory on any Hadoop file system. */
final private[checkpoint] class CheckpointDirectory(location: String, hadoop: Configuration) {
  private val root = new Path(location)
  private val files = root.getFileSystem(hadoop)

  /** @throws io.epochal.core.error.EpochalException
    *   CHECKPOINT_NOT_FOUND. An unreadable file is not an error
    */
  def read(): Checkpoint = {
    val names = list(root).getOrElse(throw notFound("there is no such directory")).map(_.getPath.getName).toSet
    if (!Seq("offsets", "commits", "metadata").exists(names))
      throw notFound("it has neither 'offsets' nor 'commits' nor 'metadata'")
    val offsets = numberedFiles("offsets")
    val commits = numberedFiles("commits")
    val epochs = (offsets.keySet ++ commits.keySet).toSeq.sorted.map { number =>
      LoggedEpoch(
        number,
        offsets.get(number).flatMap(entry(_)(OffsetLog.read)),
        commits.get(number).flatMap(entry(_)(CommitLog.read)))
    }
    Checkpoint(
      queryId,
      list(new Path(root, "state")).exists(_.nonEmpty),
      epochs,
      marks(KeptMark.Directory),
      marks(StoredMark.InSource))
  }

  /** Of each source the highest number among the names in one of its directories. */
  private def marks(directory: String): Map[String, Long] = {
    val sources = list(new Path(root, "sources")).getOrElse(Nil).map(_.getPath)
    sources.flatMap { source =>
      val names = list(new Path(source, directory)).getOrElse(Nil).map(_.getPath.getName)
      KeptMark.highest(names).map(source.getName -> _)
    }.toMap
  }

  private def queryId: Option[String] =
    Try(text(new Path(root, "metadata"))).toOption
      .flatMap(LogFile.json)
      .flatMap(node => Option(node.get("id")))
      .map(_.asText)

  /** Files of a log by epoch. Temporary files are skipped: their names are not numbers. */
  private def numberedFiles(log: String): Map[Long, FileStatus] =
    list(new Path(root, log))
      .getOrElse(Nil)
      .flatMap(file => file.getPath.getName.toLongOption.filter(_ >= 0).map(_ -> file))
      .toMap

  /** None: Spark has removed the file meanwhile. */
  private def entry[A](file: FileStatus)(read: String => Either[String, A]): Option[LogEntry[A]] =
    try Some(LogEntry(file.getModificationTime, read(text(file.getPath))))
    catch {
      case _: FileNotFoundException    => None
      case _: CharacterCodingException => Some(LogEntry(file.getModificationTime, Left("it is not UTF-8")))
      case error: IOException          => Some(LogEntry(file.getModificationTime, Left(error.getClass.getSimpleName)))
    }

  /** @throws java.nio.charset.CharacterCodingException
    *   it is not UTF-8
    */
  private def text(file: Path): String =
    UTF_8.newDecoder.decode(ByteBuffer.wrap(LoggedEpochs.bytes(files, file))).toString

  private def list(directory: Path): Option[Seq[FileStatus]] =
    try Some(files.listStatus(directory).toSeq)
    catch { case _: FileNotFoundException => None }

  private def notFound(reason: String): EpochalException =
    Conditions.CheckpointNotFound("path" -> location, "reason" -> reason)
}
