package io.epochal.kit.sink

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

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
