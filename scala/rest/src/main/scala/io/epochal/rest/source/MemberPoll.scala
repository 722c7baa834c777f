package io.epochal.rest.source

import java.time.Duration
import java.util.concurrent.ExecutionException

import scala.collection.mutable
import scala.util.Using

import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.PollBudget

/** One poll of the lists of a stream: reads the parents that are due, and receives the pages of members, several lists at a
  * time.
  *
  * It ends when no list is due, `most` rows are there, the budget is spent or a list has failed.
  *
  * @param tail
  *   receives the rows
  * @param once
  *   whether each list is read to its end once
  */
final private[rest] class MemberPoll(
    requests: MemberRequests,
    table: MemberTable,
    tail: MemberSupply.Tail,
    most: Long,
    budget: PollBudget,
    once: Boolean) {
  import requests.{clock, lineage}

  private val log = LoggerFactory.getLogger(classOf[MemberPoll])

  /** Lists that may be gone while none has answered. */
  final private val MaxGone = 100

  private val leaf = lineage.levels.size - 1
  private val lines = lineage.leaf.template.rules.format.lines
  private val queue = mutable.ArrayDeque.empty[Found]

  /** Members that have had a turn in this poll and have more: their next turn follows those of all others. */
  private val again = mutable.ArrayDeque.empty[Member]
  private var busy = 0

  /** Parents that are being read: they may name members that have had no turn. */
  private var reading = 0
  private var workers = 0
  private var stopped = false
  private var failure = Option.empty[Throwable]
  private var missing = Vector.empty[(Int, EpochalException)]
  private var skipped = false

  /** Whether it ended although lists are due. */
  def isCut: Boolean = stopped

  /** Whether a list has failed, and its error waits until the rows of others are delivered. */
  def isDeferred: Boolean = failure.nonEmpty

  /** Whether a list has many pages without records: its position is logged although there are no rows. */
  def hasSkipped: Boolean = skipped

  /** Polls.
    *
    * @param defers
    *   whether the error of a list may wait until the rows of others are delivered
    * @throws EpochalException
    *   that of a list, if it does not wait
    */
  def run(defers: EpochalException => Boolean): Unit = {
    queue ++= table.ready(clock.millis)
    try if (queue.nonEmpty) await()
    finally {
      table.all.foreach(_.queued = false)
      table.lists.foreach(_.queued = false)
      table.nextDue = (table.all.filter(_.isPresent).map(_.due) ++ table.lists.filter(_.isPresent).map(_.due)).min
    }
    failure match {
      case Some(error: EpochalException) if defers(error) && tail.available > 0 =>
        log.warn(s"A list could not be read; what others have is delivered first: ${error.problem}")
      case Some(error) => throw error
      case None =>
        missing.collectFirst { case (level, error) if !table.answered(level) => error }.foreach(throw _)
    }
  }

  /** Runs the workers until all have ended. */
  private def await(): Unit = {
    val running = Seq.fill(requests.connections)(requests.threads.submit((() => work()): Runnable))
    try running.foreach(_.get())
    catch {
      case e: ExecutionException => fail(e.getCause)
      case e: InterruptedException =>
        running.foreach(_.cancel(true))
        fail(e)
    } finally
      synchronized {
        stopped = stopped || failure.nonEmpty
        notifyAll()
        // A task that was cancelled before it began never counts.
        while (workers > 0)
          try wait()
          catch { case e: InterruptedException => running.foreach(_.cancel(true)); failure = Some(e) }
      }
  }

  private def work(): Unit = {
    synchronized(workers += 1)
    try
      Iterator.continually(next()).takeWhile(_.nonEmpty).flatten.foreach { one =>
        try
          one match {
            case listing: Listing => read(listing)
            case member: Member   => visit(member)
          }
        catch { case e: Throwable => fail(e) }
        finally
          synchronized {
            busy -= 1
            if (one.isInstanceOf[Listing]) reading -= 1
            notifyAll()
          }
      }
    finally
      synchronized {
        workers -= 1
        notifyAll()
      }
  }

  private def fail(error: Throwable): Unit = synchronized {
    if (failure.isEmpty) failure = Some(error)
    stopped = true
    notifyAll()
  }

  /** The next list; waits while a parent is read that may name more. */
  private def next(): Option[Found] = synchronized {
    while (queue.isEmpty && busy > 0 && (again.isEmpty || reading > 0) && !ends) wait()
    if (queue.isEmpty && again.isEmpty || ends) None
    else {
      busy += 1
      val one = if (queue.nonEmpty) queue.removeHead() else again.removeHead()
      if (one.isInstanceOf[Listing]) reading += 1
      Some(one)
    }
  }

  /** Whether no further page is requested. Under `once` a poll without rows would end the run, so it has no budget. */
  private def ends: Boolean = synchronized {
    if (!stopped && (tail.available >= most || budget.spent && (!once || tail.available > 0))) {
      stopped = true
      notifyAll()
    }
    stopped
  }

  /** Reads a parent: all its records, or none that count. After a first read, only those that have changed, if it can. */
  private def read(listing: Listing): Unit = {
    val level = lineage.levels(listing.level)
    val list = level.of(listing.params)
    listing.versions.foreach(_.begin(clock.instant()))
    val options = listing.versions.fold(list)(_.asked(list))
    listing.grown = false
    var whole = false
    try {
      val read = listing.versions.nonEmpty && listing.reads > 0
      Using.resource(requests.reader(listing.level, options, endedBefore = read)) { reader =>
        while (reader.hasNext && failure.isEmpty) {
          reader.next(): Unit
          val children = requests.children(listing.level, options, reader.page, listing.params) { (record, index) =>
            listing.versions.foreach(_.pass(record, index, options))
          }
          synchronized {
            table.answered += listing.level
            children.foreach(found(listing, _))
            notifyAll()
          }
          // A parent is not left in the middle: the next poll would begin it again.
          whole = reader.atEnd
        }
      }
      listing.gone = false
    } catch {
      case error: EpochalException if listing.level > 0 && requests.isGone(listing.level, options, None, error) =>
        gone(listing, listing.level, error)
        whole = true
    }
    synchronized {
      if (whole) listing.versions.fold(listing.reads += 1)(versions => versions.end(): Unit)
      rest(listing, level.template, listing.grown)
    }
  }

  private def found(parent: Listing, values: Map[String, String]): Unit = {
    val (one, isNew) = table.found(parent, values)
    if (isNew) parent.grown = true
    if (one.due <= clock.millis && !one.queued) {
      one.queued = true
      one match {
        case listing: Listing => queue.prepend(listing)
        case member           => queue.append(member)
      }
    }
  }

  /** Receives pages of a member: to its end, or one if others wait for their turn. */
  private def visit(member: Member): Unit = {
    val params = synchronized(table.params(member))
    val list = lineage.leaf.of(params)
    if (member.token == null) member.versions.foreach(_.begin(clock.instant()))
    val options = member.versions.fold(list)(_.asked(list))
    // An earlier pass has delivered records: its end was proven.
    val endedBefore = member.versions.nonEmpty && member.records > 0
    var rows = 0L
    var empty = 0
    try
      Using.resource(requests.reader(leaf, options, member.state, endedBefore)) { reader =>
        var continues = true
        while (continues && reader.hasNext) {
          val records = receive(member, options, params, reader)
          rows += records
          empty = if (records == 0 && !reader.isBounded) empty + 1 else 0
          continues = empty < PagingOptions.EmptyPagesPerPoll && !ends && !othersWait
        }
        synchronized {
          if (member.answered) table.answered += leaf
          member.gone = false
          if (empty >= PagingOptions.EmptyPagesPerPoll) skipped = true
          val begins = reader.atEnd && once && member.resumed
          if (reader.atEnd) member.resumed = false
          if (!begins && (reader.atEnd || empty >= PagingOptions.EmptyPagesPerPoll))
            rest(member, lineage.leaf.template, rows > 0)
          else {
            member.due = clock.millis
            again.append(member)
            notifyAll()
          }
        }
      }
    catch {
      case error: EpochalException if requests.isGone(leaf, options, Option(member.token), error) =>
        gone(member, leaf, error)
        synchronized(rest(member, lineage.leaf.template, rows > 0))
    }
  }

  /** Receives the next page of a member.
    *
    * @return
    *   its number of new records
    */
  private def receive(member: Member, options: RestOptions, params: Map[String, String], reader: ListReader): Int = {
    val missing = reader.next().missing
    if (missing > 0)
      log.warn(options.lost(member.records - missing, member.records, "the last page has fewer records than before"))
    var (records, first) = (0, 0)
    reader.blocks.foreach { block =>
      member.versions.fold(Option(block))(_.fresh(block, first, options)).foreach { fresh =>
        val frame = fresh.behind(PageFront(lines, reader.page.origin, params).bytes)
        records += fresh.records
        synchronized {
          tail.add(frame.records, frame.bytes, frame.from, frame.length)
          budget.spend(fresh.length.toLong)
        }
      }
      first += block.records
    }
    synchronized(moved(member, reader, records))
    records
  }

  private def othersWait: Boolean = synchronized(queue.nonEmpty || again.nonEmpty || reading > 0)

  private def moved(member: Member, reader: ListReader, records: Int): Unit = {
    val token = reader.state.next.token
    if (!member.answered || records > 0 || token.nonEmpty && !token.contains(member.token)) member.moved = true
    member.answered = true
    member.moveTo(reader.state)
    member.records += records
    if (records > 0) member.changed = clock.millis
    if (reader.atEnd) member.versions.foreach(ended(member, _))
  }

  /** Ends a pass: the next one begins with the first page. */
  private def ended(member: Member, versions: SinceVersions): Unit = {
    val changes = versions.end()
    if (changes) member.moved = true
    if (changes || member.token != null) member.unless = null
    member.token = null
    member.taken = 0
  }

  private def gone(one: Found, level: Int, error: EpochalException): Unit = synchronized {
    if (!one.gone) log.info(s"A list is gone and is skipped: ${error.problem}")
    one.gone = true
    if (!table.answered(level)) {
      missing :+= level -> error
      if (missing.size >= MaxGone) stopped = true
    }
  }

  /** Sets the moment of the next poll. The first pauses differ, so that lists found together are not polled together. */
  private def rest(one: Found, options: RestOptions, changed: Boolean): Unit = {
    val isFirst = one.pause == 0
    val interval = options.values.get(PollOptions.RefreshInterval)
    one.pause = PollPace.pause(interval, Duration.ofMillis(one.pause), !changed).toMillis
    val wait = if (isFirst && interval.nonEmpty) one.pause * (50 + Math.floorMod(one.hashCode, 50)) / 100 else one.pause
    one.due = if (once) Long.MaxValue else clock.millis + wait
  }
}
