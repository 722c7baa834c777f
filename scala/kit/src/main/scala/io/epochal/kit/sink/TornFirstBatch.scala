package io.epochal.kit.sink

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.slf4j.LoggerFactory

/** Lets a query start again that was killed while Spark logged the offsets, or the commit, of its very first batch.
  *
  * Spark writes them to `offsets/.0.<uuid>.tmp` or `commits/.0.<uuid>.tmp` and renames that file. If the file is left behind,
  * Spark 4.3 assumes that the checkpoint is in use, and rejects every later start
  * (`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`): if no offsets are logged, and under a real-time trigger, which first deletes
  * uncommitted ones. Spark planned nothing from such a file, and never reads it: it is deleted if nothing was committed and
  * `state` is empty.
  */
private[epochal] object TornFirstBatch {
  private val log = LoggerFactory.getLogger(getClass.getName.stripSuffix("$"))
  private val Temporary = """\.0\.[0-9a-f-]{36}\.tmp""".r

  /** Deletes the file.
    *
    * @param options
    *   of a streaming write; without `checkpointLocation` there is nothing to do
    */
  def sweep(options: Map[String, String], hadoop: => Configuration): Unit =
    options.collectFirst { case (name, place) if name.equalsIgnoreCase("checkpointLocation") => place }.foreach {
      place =>
        try {
          val checkpoint = new Path(place)
          sweep(checkpoint.getFileSystem(hadoop), checkpoint)
        } catch { case NonFatal(error) => log.debug("the checkpoint could not be checked", error) }
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
