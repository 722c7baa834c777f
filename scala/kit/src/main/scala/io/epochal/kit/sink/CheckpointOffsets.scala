package io.epochal.kit.sink

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.epochal.core.hash.Sha256
import io.epochal.kit.store.LoggedEpochs

/** Reads the offsets of an epoch from Spark's checkpoint.
  *
  * `offsets/<epoch>` holds a version, a line of settings and watermarks, and a line for each source. Only the sources' lines
  * determine the epoch's rows, so only they count. Version 2 names the sources, in any order.
  */
object CheckpointOffsets {

  /** 32 hexadecimal digits of SHA-256; None if the file does not exist or has an unknown format.
    *
    * @throws IOException
    *   if the file may exist and cannot be read: the epoch must not be recorded as one without offsets
    */
  def hash(checkpoint: String, epoch: Long, hadoop: Configuration): Option[String] =
    try {
      val file = new Path(new Path(checkpoint, "offsets"), epoch.toString)
      hash(new String(LoggedEpochs.bytes(file.getFileSystem(hadoop), file), UTF_8))
    } catch { case _: FileNotFoundException => None }

  private[epochal] def hash(text: String): Option[String] = text.split('\n').toList match {
    case "v1" :: _ :: sources => Some(digest("v1" :: sources))
    case "v2" :: _ :: sources => Some(digest("v2" :: sources.sorted))
    case _                    => None
  }

  private def digest(lines: Seq[String]): String = Sha256.hex(lines.mkString("\n"), 16)
}
