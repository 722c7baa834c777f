package io.epochal.kit.sink

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.slf4j.LoggerFactory

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
