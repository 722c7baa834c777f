package io.epochal.kit.store

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFileSystem, FileSystem, FileUtil, Path}
import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions

/** The epochs in a query's checkpoint: `offsets/<epoch>`, written before an epoch is committed, and `commits/<epoch>`, after.
  *
  * Entries of `offsets` are never deleted. Those that Spark must not find are moved to
  * `epochal-offsets/<epoch>-<milliseconds since 1970>`, where the latest `Kept` stay: `epochal checkpoint restore` puts them back.
  *
  * @param checkpoint
  *   of the query
  */
final class LoggedEpochs(checkpoint: Path, hadoop: Configuration) {
  private val offsets = new Path(checkpoint, "offsets")
  private val commits = new Path(checkpoint, "commits")
  private val aside = new Path(checkpoint, LoggedEpochs.Aside)

  /** The last epoch that Spark logged as committed. */
  def lastCommitted: Option[Long] = epochs(commits).maxOption

  def lastLogged: Option[Long] = epochs(offsets).maxOption

  /** The hash of an epoch's offsets; None if they are not logged, or in an unknown format.
    *
    * @throws IOException
    *   if the file may exist and cannot be read: the epoch must not be recorded as one without offsets
    */
  def offsetsHash(epoch: Long): Option[String] = entry(epoch).flatMap(_.offsetsHash)

  /** Whether no epoch was ever logged. */
  def isEmpty: Boolean = Seq(offsets, commits, aside).forall(epochs(_).isEmpty) && setAsideEntries.isEmpty

  /** Whether the last epoch was logged under a continuous trigger. Such an entry has no line of settings, which other triggers
    * need to resume.
    */
  def isContinuous: Boolean = lastLogged.exists(epoch => settings(epoch).exists(_.isEmpty))

  /** The first uncommitted epoch that was logged under a trigger other than continuous. Its entry is needed to rerun it
    * unchanged.
    */
  def unfinished: Option[Long] = uncommitted.find(epoch => settings(epoch).exists(_.nonEmpty))

  /** Whether Spark logged the epoch only to repartition the query's state, without its sources and sink. */
  def repartitions(epoch: Long): Boolean = settings(epoch).exists { own =>
    def partitions(of: String) = LoggedEpochs.Partitions.findFirstMatchIn(of).map(_.group(1))
    own.contains("\"controlBatchInfo\"") ||
    settings(epoch - 1).exists(before => partitions(before).exists(counts => partitions(own).exists(_ != counts)))
  }

  /** Moves the entries of epochs that are not committed out of the offset log, for a continuous run that has not begun.
    *
    * Under a continuous trigger Spark reruns those epochs, to other ends, but keeps existing entries: the epoch would be
    * committed at the end of the earlier run, and rows between the two ends lost at the next restart.
    *
    * @param from
    *   the first epoch of the run
    * @return
    *   the epochs that were moved
    * @throws io.epochal.core.error.EpochalException
    *   COMMITS_MISSING: a run logs the end of an epoch only once the one before is committed, so that several entries without
    *   any commit are those of committed epochs
    */
  def setAside(from: Long = lastCommitted.fold(0L)(_ + 1)): Seq[Long] = {
    val stale = epochs(offsets).filter(_ >= from).sorted
    if (stale.nonEmpty) refuseWithoutCommits()
    // The last one first: an interruption leaves no gap.
    stale.reverse.foreach(putAside(_, deleted = true))
    if (stale.nonEmpty)
      LoggedEpochs.log.info(
        s"Moved the ends of ${stale.size} uncommitted epochs from $offsets to $aside, from epoch ${stale.head} on: they are rerun")
    stale
  }

  /** Copies the entries of epochs that are not committed: under a real-time trigger Spark deletes them when it begins. Throws as
    * `setAside` does.
    */
  def keepUncommitted(): Unit = {
    refuseWithoutCommits()
    uncommitted.foreach(putAside(_, deleted = false))
  }

  private def refuseWithoutCommits(): Unit = {
    val loggedEpochs = epochs(offsets)
    if (loggedEpochs.size > 1 && lastCommitted.isEmpty)
      throw Conditions.CommitsMissing("path" -> checkpoint, "first" -> loggedEpochs.min, "last" -> loggedEpochs.max)
  }

  /** Moves an epoch out of the offset log that micro-batches have planned, after their sink found rows of another trigger and
    * rejected it. That other trigger, which must run first, would reject it too.
    *
    * An epoch of real-time runs stays: they remove it themselves, and one of them may be about to commit it.
    *
    * @return
    *   whether it existed and is moved
    */
  def takeBack(epoch: Long): Boolean =
    unfinished.contains(epoch) && !streams.exists(RealTimeRuns.of(_, hadoop).began(epoch)) && {
      putAside(epoch, deleted = true)
      LoggedEpochs.log.info(
        s"Moved epoch $epoch from $offsets to $aside: the sink rejected it and has none of its rows")
      true
    }

  /** Puts back the entry of the last committed epoch, if it was set aside: a run that seemed to be dead has logged its commit
    * since, and Spark resumes from no other entry. Of several entries only a person can choose.
    *
    * @return
    *   the epoch whose entry was put back
    */
  def restore(): Option[Long] =
    lastCommitted.filterNot(epochs(offsets).contains).flatMap { epoch =>
      setAsideEntries.filter(_.epoch == epoch) match {
        case Seq(only) =>
          rename(new Path(aside, only.name), new Path(offsets, epoch.toString))
          LoggedEpochs.log.warn(
            s"Put back epoch $epoch from $aside to $offsets: it was committed after a later run had set it aside")
          Some(epoch)
        case _ => None
      }
    }

  private def putAside(epoch: Long, deleted: Boolean): Unit = {
    val entries = setAsideEntries
    val now = math.max(System.currentTimeMillis(), entries.map(_.millis).maxOption.fold(0L)(_ + 1))
    val (from, to) = (new Path(offsets, epoch.toString), new Path(aside, s"$epoch-$now"))
    fs.mkdirs(aside)
    if (deleted) rename(from, to) else FileUtil.copy(fs, from, fs, to, false, hadoop): Unit
    entries
      .sortBy(_.millis)
      .dropRight(LoggedEpochs.Kept - 1)
      .foreach(old => fs.delete(new Path(aside, old.name), false): Unit)
  }

  private def rename(from: Path, to: Path): Unit =
    if (!fs.rename(from, to)) throw new IOException(s"$from could not be renamed to $to")

  private def setAsideEntries: Seq[SetAside] = names(aside).collect { case LoggedEpochs.Entry(epoch, millis) =>
    SetAside(epoch.toLong, millis.toLong)
  }

  /** The directories of the streams in the checkpoint. */
  private def streams: Seq[String] =
    try fs.listStatus(new Path(checkpoint, "sources")).toSeq.filter(_.isDirectory).map(_.getPath.toString)
    catch { case _: FileNotFoundException => Nil }

  private def uncommitted: Seq[Long] = {
    val last = lastCommitted
    epochs(offsets).filter(epoch => last.forall(_ < epoch)).sorted
  }

  private def fs = checkpoint.getFileSystem(hadoop)

  private def epochs(log: Path): Seq[Long] = names(log).flatMap(_.toLongOption).filter(_ >= 0)

  private def names(directory: Path): Seq[String] =
    try fs.listStatus(directory).toSeq.map(_.getPath.getName)
    catch { case _: FileNotFoundException => Nil }

  private def settings(epoch: Long): Option[String] = entry(epoch).flatMap(_.settings)

  private def entry(epoch: Long): Option[LogText] =
    try Some(new LogText(new String(LoggedEpochs.bytes(fs, new Path(offsets, epoch.toString)), UTF_8)))
    catch { case _: FileNotFoundException => None }
}

/** An entry that was moved out of the offset log. */
final private case class SetAside(epoch: Long, millis: Long) {
  def name: String = s"$epoch-$millis"
}

object LoggedEpochs {
  private val Aside = "epochal-offsets"
  private val Entry = "(\\d{1,18})-(\\d{1,18})".r
  private val Kept = 100

  /** The state partitions of an epoch, in its settings. */
  private val Partitions = "\"spark[.]sql[.]shuffle[.]partitions\":\"(\\d+)\"".r

  /** The epochs of the query of a stream.
    *
    * @param part
    *   of a query's checkpoint: the stream's directory, from Spark
    */
  def of(part: Path, hadoop: Configuration): Option[LoggedEpochs] =
    Option(part.getParent).filter(_.getName == "sources").map(sources => new LoggedEpochs(sources.getParent, hadoop))

  /** Reads a file of Spark's logs as Spark does: also if a checksum of Hadoop beside it is of other bytes, since the file was
    * edited, or restored without it.
    */
  private[epochal] def bytes(files: FileSystem, file: Path): Array[Byte] = {
    val rawFiles = files match {
      case files: ChecksumFileSystem => files.getRawFileSystem
      case _                         => files
    }
    Using.resource(rawFiles.open(file))(_.readAllBytes())
  }

  private val log = LoggerFactory.getLogger(classOf[LoggedEpochs])
}
