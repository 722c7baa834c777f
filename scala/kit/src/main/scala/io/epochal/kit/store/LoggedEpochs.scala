package io.epochal.kit.store

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.epochal.core.journal.FileStore

/** The epochs in a query's checkpoint: `offsets/<epoch>`, written before an epoch is committed, and `commits/<epoch>`, after.
  *
  * @param checkpoint
  *   of the query
  */
final class LoggedEpochs(checkpoint: Path, hadoop: Configuration) {
  private val offsets = new Path(checkpoint, "offsets")
  private val commits = new Path(checkpoint, "commits")

  /** The last one that Spark logged as committed. */
  def lastCommitted: Option[Long] = epochs(commits).maxOption

  def lastLogged: Option[Long] = epochs(offsets).maxOption

  /** Whether the last epoch was logged under a continuous trigger. Such an entry has no line of settings, without which no other
    * trigger goes on.
    */
  def isContinuous: Boolean = lastLogged.exists(epoch => settings(epoch).exists(_.isEmpty))

  /** The first epoch that was logged under another trigger than a continuous one and is not committed. To run it again as it was
    * takes its entry.
    */
  def unfinished: Option[Long] = uncommitted.find(epoch => settings(epoch).exists(_.nonEmpty))

  /** Removes from the offset log what lies behind the last commit, for a continuous run that has not begun.
    *
    * Under a continuous trigger Spark runs those epochs again, to other ends, but keeps the entries that it finds: the epoch is then
    * committed at the end that the earlier run had, and rows between the two ends are lost at the next restart.
    *
    * @return
    *   the epochs that were removed
    */
  def removeUncommitted(): Seq[Long] = {
    val stale = uncommitted
    // The last one first: whenever this ends, no gap is left.
    stale.reverse.foreach { epoch =>
      val _ = fs.delete(new Path(offsets, epoch.toString), false)
    }
    if (stale.nonEmpty)
      LoggedEpochs.log.info(
        s"Removed the ends of ${stale.size} uncommitted epochs from $offsets, from epoch ${stale.head} on: they run again")
    stale
  }

  /** Removes an epoch that micro-batches have planned, after their sink has found rows of another trigger there and refused to begin
    * it. Left there, it would be refused by that trigger too, which must run first.
    *
    * One of real-time runs stays: they remove it themselves, and one of them may be about to commit it.
    *
    * @return
    *   whether it was there, and is no more
    */
  def takeBack(epoch: Long): Boolean =
    unfinished.contains(epoch) && !streams.exists(RealTimeRuns.of(_, hadoop).began(epoch)) && {
      val removed = fs.delete(new Path(offsets, epoch.toString), false)
      if (removed)
        LoggedEpochs.log.info(s"Removed epoch $epoch from $offsets: the sink refused it and has nothing of it")
      removed
    }

  /** Their parts of the checkpoint. */
  private def streams: Seq[String] =
    try fs.listStatus(new Path(checkpoint, "sources")).toSeq.filter(_.isDirectory).map(_.getPath.toString)
    catch { case _: FileNotFoundException => Nil }

  private def uncommitted: Seq[Long] = {
    val committed = lastCommitted
    epochs(offsets).filter(epoch => committed.forall(_ < epoch)).sorted
  }

  private def fs = checkpoint.getFileSystem(hadoop)

  private def epochs(log: Path): Seq[Long] =
    try fs.listStatus(log).toSeq.flatMap(_.getPath.getName.toLongOption).filter(_ >= 0)
    catch { case _: FileNotFoundException => Nil }

  /** The second line: settings and watermarks. */
  private def settings(epoch: Long): Option[String] =
    try
      Using
        .resource(fs.open(new Path(offsets, epoch.toString)))(in => new String(in.readAllBytes(), UTF_8))
        .split("\n", -1)
        .lift(1)
    catch { case _: FileNotFoundException => None }
}

object LoggedEpochs {

  /** @param part
    *   of a query's checkpoint: the directory that Spark hands a stream
    */
  def of(part: Path, hadoop: Configuration): Option[LoggedEpochs] =
    Option(part.getParent).filter(_.getName == "sources").map(sources => new LoggedEpochs(sources.getParent, hadoop))

  private val log = LoggerFactory.getLogger(classOf[LoggedEpochs])
}

/** Remembers from which epoch on those in a checkpoint are of real-time runs.
  *
  * A real-time run forgets what Spark has logged and not committed and begins there again, as it has only logged what the sink had
  * committed. Of an epoch that a micro-batch run has planned a sink may have the rows: forgotten, it cannot run again as it was.
  * Spark's log does not tell the two apart.
  *
  * An empty file in a stream's part of the checkpoint, `real-time-from-<epoch>`: made before a real-time run begins, removed before a
  * micro-batch run plans an epoch of its own. Without it epochs count as planned.
  *
  * @param next
  *   the epoch after the last committed one
  */
final class RealTimeRuns(part: FileStore, next: => Long) {
  import RealTimeRuns._

  /** Whether a real-time run began the epoch, if it is not committed. */
  def began(epoch: Long): Boolean = files.exists(_.stripPrefix(Prefix).toLongOption.exists(_ <= epoch))

  /** Where a checkpoint was rewound, from an earlier epoch on than was known. */
  def begin(): Unit = {
    val first = next
    if (!began(first)) part.create(s"$Prefix$first").close()
  }

  def end(): Unit = {
    files.foreach(part.delete)
    files.headOption.foreach(left => throw new IOException(s"$part/$left could not be removed"))
  }

  private def files: Seq[String] = part.names().filter(_.startsWith(Prefix))
}

object RealTimeRuns {
  private val Prefix = "real-time-from-"

  /** @param part
    *   of the checkpoint: the directory that Spark hands the stream
    */
  def of(part: String, hadoop: Configuration): RealTimeRuns = {
    def next = LoggedEpochs.of(new Path(part), hadoop).flatMap(_.lastCommitted).fold(0L)(_ + 1)
    new RealTimeRuns(new HadoopFileStore(part, hadoop), next)
  }
}
