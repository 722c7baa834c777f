package io.epochal.spark.sink.rest

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.epochal.core.error.Conditions

/** How an epoch's rows were dealt out when they were first sent: `epochal-rest/<epoch>` in the query's checkpoint, which holds
  * `{"v":1,"requests":"…"}`.
  *
  * Spark repeats an epoch with the same rows, but not always in as many partitions (that follows from the number of cores), nor
  * does it know the options that cut rows into requests. Where keys are made of a row's place either gives all rows other
  * keys, so the first attempt writes down what it went by, before anything is sent, and a later one is held to it.
  *
  * @param checkpoint
  *   the query's
  */
final private[rest] class EpochPartitions(checkpoint: String, hadoop: => Configuration) {
  import EpochPartitions._

  private lazy val directory = new Path(checkpoint, Directory)
  private lazy val fs: FileSystem = directory.getFileSystem(hadoop)

  /** @param requests
    *   what the cutting of rows into requests follows from
    * @return
    *   whether the epoch was begun before
    * @throws EpochalException
    *   EPOCH_DEALT_ANEW, when it was begun otherwise
    */
  def hold(epoch: Long, requests: String): Boolean = {
    val file = new Path(directory, epoch.toString)
    read(file) match {
      case Some(text) =>
        if (text != line(requests))
          throw Conditions.EpochDealtAnew("epoch" -> epoch, "known" -> told(text), "found" -> requests)
        true
      case None =>
        write(file, line(requests))
        forget(epoch)
        false
    }
  }

  private def read(file: Path): Option[String] =
    try Some(Using.resource(fs.open(file))(in => new String(in.readAllBytes(), UTF_8)))
    catch { case _: FileNotFoundException => None }

  /** A file that stands under its final name is whole. */
  private def write(file: Path, text: String): Unit = {
    val unfinished = new Path(directory, s".${file.getName}.${UUID.randomUUID()}")
    Using.resource(fs.create(unfinished, false))(_.write(text.getBytes(UTF_8)))
    if (!fs.rename(unfinished, file)) throw new java.io.IOException(s"$unfinished cannot be renamed to $file")
  }

  /** Of what Spark will not repeat. A failure costs nothing but a file. */
  private def forget(epoch: Long): Unit = Try(fs.delete(new Path(directory, (epoch - Kept).toString), false)): Unit
}

private[rest] object EpochPartitions {
  private val Directory = "epochal-rest"

  /** More than the epochs that Spark may repeat. */
  private val Kept = 100L

  private val Line = """\{"v":1,"requests":"(.*)"\}\s*""".r

  private def line(requests: String): String = s"""{"v":1,"requests":"$requests"}\n"""

  private def told(text: String): String = text match {
    case Line(requests) => requests
    case other          => s"'${other.trim}'"
  }
}
