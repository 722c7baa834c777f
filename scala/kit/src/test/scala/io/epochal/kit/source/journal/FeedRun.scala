package io.epochal.kit.source.journal

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration

import io.epochal.core.journal.{FileInput, FileOutput, FileStore}
import io.epochal.kit.source.{EndlessReader, InitialOffset, PositionCodec}
import io.epochal.kit.store.HadoopFileStore

/** Numbers from `first` on; a held number is not delivered, though it exists. */
final private class HeldFeed extends Feed {
  @volatile var first = 0
  @volatile var problem = Option.empty[String]

  /** Thrown by the origin, as it is. */
  @volatile var fatal = Option.empty[Error]
  private var held = false

  def hold(): Unit = synchronized { held = true }

  def release(): Unit = synchronized {
    held = false
    notifyAll()
  }

  override def take(number: Int): Option[Int] = {
    fatal.foreach(throw _)
    problem.foreach(text => throw new IllegalStateException(text))
    val before = first
    val found = super.take(number)
    if (found.nonEmpty) synchronized(while (held) wait())
    found.map(_ + before)
  }
}

/** Lists, at the first call, the files that existed before. */
final private class StaleListing(store: FileStore, before: Seq[String]) extends FileStore {
  private var left = Option(before)

  override def names(): Seq[String] = {
    val listed = left.getOrElse(store.names())
    left = None
    listed
  }

  override def create(name: String): FileOutput = store.create(name)
  override def open(name: String): FileInput = store.open(name)
  override def exists(name: String): Boolean = store.exists(name)
  override def delete(name: String): Unit = store.delete(name)
}

/** One run over a checkpoint. */
final private class FeedRun(feed: Feed, checkpoint: Path, maxBytes: Long = Feeding.MaxBytes) {
  private val source =
    new FeedSource("feed", feed, new InitialOffset(checkpoint.toString, new Configuration()), parts = 1, maxBytes)
  val store: HadoopFileStore = source.store
  val codec: PositionCodec[FeedPosition] = source
  val supply: FeedSupply = source.supply

  @volatile var found = Option.empty[FeedPosition]

  def tail(start: FeedPosition): JournalTail[FeedPosition, Int] = new JournalTail(source.journal, start)

  def claim(): Unit = source.log.claim()

  def follow(row: Int): Long = supply.follow(FeedPosition(row.toLong, None, row))

  def reader(row: Int): EndlessReader = readerAt(follow(row))

  def readerAt(row: Long): EndlessReader = source.endlessReaders.createReader(FeedPartition(row))

  def remoteReader(row: Long): EndlessReader = new FeedReader(source.feedRows, new LoggedFeed(source.feedRows), row)

  /** The rows before a position, from `start` on. */
  def rows(start: FeedPosition, end: FeedPosition): Seq[Long] =
    supply.partitions(start, end).toSeq.flatMap {
      case JournalPartition(slices) =>
        val numbers = source.feedRows.rows(slices.iterator)
        Iterator.continually(numbers.next()).takeWhile(identity).map(_ => numbers.get().getLong(0)).toSeq
      case other => throw new IllegalArgumentException(s"$other")
    }

  def rows(end: FeedPosition): Seq[Long] = rows(FeedPosition(0, None, 0), end)

  def feedFiles: Seq[Path] = {
    val files = Files.list(checkpoint.resolve("journal"))
    try files.filter(_.toString.endsWith(".feed")).toArray.toSeq.map(_.asInstanceOf[Path]).sortBy(_.toString)
    finally files.close()
  }

  /** Hides from the run that it is not the newest. */
  def withoutGenerations(body: => Unit): Unit = {
    val generations = checkpoint.resolve("journal/runs")
    val aside = checkpoint.resolve("aside")
    Files.move(generations, aside)
    try body
    finally Files.move(aside, generations): Unit
  }

  def close(): Unit = supply.close()
}
