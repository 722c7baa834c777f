package io.epochal.kit.sink

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.slf4j.LoggerFactory

/** Lets a query start again that was killed while Spark logged the offsets of its very first batch.
  *
  * Spark writes them to `offsets/.0.<uuid>.tmp` and renames that file. Left behind, it makes Spark 4.3 take the checkpoint for
  * one that is in use, and refuse every later start (`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`). Nothing was planned from
  * such a file, and Spark reads it nowhere: it is deleted where it is all there is, that is where `offsets` holds nothing else
  * and `commits` and `state` nothing at all.
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
    val offsets = names("offsets")
    val torn =
      offsets.nonEmpty && offsets.forall(Temporary.matches) && names("commits").isEmpty && names("state").isEmpty
    if (torn) offsets.foreach { name =>
      val file = new Path(new Path(checkpoint, "offsets"), name)
      if (fs.delete(file, false))
        log.warn(
          "Deleted {}: an earlier start was stopped while Spark logged its first batch, of which nothing ran.",
          file)
    }
  }
}
