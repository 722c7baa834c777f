package io.epochal.kit.sink

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal
import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.slf4j.LoggerFactory

import io.epochal.core.hash.Sha256

/** What Spark's checkpoint says of an epoch's offsets (K3).
  *
  * `offsets/<epoch>` holds a version, a line of settings and watermarks, and a line for each source. Only the sources'
  * lines tell which rows the epoch has, so only they count. Version 2 names the sources, in any order.
  */
object CheckpointOffsets {

  /** 32 hexadecimal digits of SHA-256; None when the file is not there or not understood.
    *
    * @throws IOException
    *   when it may be there and cannot be read: the epoch must not be recorded as one without offsets
    */
  def hash(checkpoint: String, epoch: Long, hadoop: Configuration): Option[String] =
    try hash(read(new Path(new Path(checkpoint, "offsets"), epoch.toString), hadoop))
    catch { case _: FileNotFoundException => None }

  private[epochal] def hash(text: String): Option[String] = text.split('\n').toList match {
    case "v1" :: _ :: sources => Some(digest("v1" :: sources))
    case "v2" :: _ :: sources => Some(digest("v2" :: sources.sorted))
    case _                    => None
  }

  private def read(file: Path, hadoop: Configuration): String =
    Using.resource(file.getFileSystem(hadoop).open(file))(in => new String(in.readAllBytes(), UTF_8))

  private def digest(lines: Seq[String]): String = Sha256.hex(lines.mkString("\n"), 16)
}

/** Lets a query start again that was killed while Spark logged the offsets, or the commit, of its very first batch.
  *
  * Spark writes them to `offsets/.0.<uuid>.tmp` or `commits/.0.<uuid>.tmp` and renames that file. Left behind, it makes Spark 4.3
  * take the checkpoint for one that is in use, and refuse every later start (`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`): where
  * no offsets are logged, and under a real-time trigger, which first deletes those that were not committed. Nothing was
  * planned from such a file, and Spark reads it nowhere: it is deleted where nothing was committed and `state` is empty.
  */
private[epochal] object TornFirstBatch {
  private val log = LoggerFactory.getLogger(getClass.getName.stripSuffix("$"))
  private val Temporary = """\.0\.[0-9a-f-]{36}\.tmp""".r

  /** @param options
    *   of a streaming write; without `checkpointLocation` there is nothing to do
    */
  def sweep(options: Map[String, String], hadoop: => Configuration): Unit =
    options.collectFirst { case (name, place) if name.equalsIgnoreCase("checkpointLocation") => place }.foreach {
      place =>
        try {
          val checkpoint = new Path(place)
          sweep(checkpoint.getFileSystem(hadoop), checkpoint)
        } catch { case NonFatal(error) => log.debug("the checkpoint was not looked at", error) }
    }

  private def sweep(fs: FileSystem, checkpoint: Path): Unit = {
    def names(directory: String): Seq[String] =
      Try(fs.listStatus(new Path(checkpoint, directory)).toSeq.map(_.getPath.getName)).getOrElse(Nil)
    if (names("commits").forall(Temporary.matches) && names("state").isEmpty)
      for {
        directory <- Seq("offsets", "commits")
        name <- names(directory).filter(Temporary.matches)
      } {
        val file = new Path(new Path(checkpoint, directory), name)
        if (fs.delete(file, false))
          log.warn(
            "Deleted {}: an earlier start was stopped while Spark logged its first batch, which was not committed.",
            file)
      }
  }
}
