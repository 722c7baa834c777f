package io.epochal.rest.source

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
  import MemberTable.Member
  import requests.{clock, lineage}

  private val log = LoggerFactory.getLogger(classOf[MemberPoll])

  /** Lists that may be gone while none has answered. */
  final private val MaxGone = 100

  private val leaf = lineage.levels.size - 1
  private val lines = lineage.leaf.template.rules.format.lines
  private val queue = mutable.ArrayDeque.empty[Member]

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
    queue ++= table.begin(clock.millis)
    try if (queue.nonEmpty) await()
    finally table.end()
    failure match {
      case Some(error: EpochalException) if defers(error) && tail.available > 0 =>
        log.warn(s"A list could not be read; what others have is delivered first: ${error.problem}")
      case Some(error) => throw error
      case None =>
        missing.collectFirst { case (level, error) if !table.hasAnswered(level) => error }.foreach(throw _)
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
        // A task cancelled before it began is not counted in `workers`.
        while (workers > 0)
          try wait()
          catch { case e: InterruptedException => running.foreach(_.cancel(true)); failure = Some(e) }
      }
  }

  private def work(): Unit = {
    synchronized(workers += 1)
    try
      Iterator.continually(next()).takeWhile(_.nonEmpty).flatten.foreach { list =>
        try if (isParent(list)) read(list) else visit(list)
        catch { case e: Throwable => fail(e) }
        finally
          synchronized {
            busy -= 1
            if (isParent(list)) reading -= 1
            notifyAll()
          }
      }
    finally
      synchronized {
        workers -= 1
        notifyAll()
      }
  }

  private def isParent(list: Member): Boolean = list.level < leaf

  private def fail(error: Throwable): Unit = synchronized {
    if (failure.isEmpty) failure = Some(error)
    stopped = true
    notifyAll()
  }

  /** The next list; waits while a parent is read that may name more. */
  private def next(): Option[Member] = synchronized {
    while (queue.isEmpty && busy > 0 && (again.isEmpty || reading > 0) && !ends) wait()
    if (queue.isEmpty && again.isEmpty || ends) None
    else {
      busy += 1
      val list = if (queue.nonEmpty) queue.removeHead() else again.removeHead()
      if (isParent(list)) reading += 1
      Some(list)
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
  private def read(parent: Member): Unit = {
    val (level, params) = (parent.level, table.params(parent))
    val every = lineage.levels(level).of(params)
    parent.versions.foreach(_.begin(clock.instant()))
    val list = parent.versions.fold(every)(_.passRequests(every))
    var isWhole = false
    try
      Using.resource(requests.reader(level, list)) { reader =>
        while (reader.hasNext && failure.isEmpty) {
          reader.next(): Unit
          val children = requests.children(level, list, reader.page, params) { (record, index) =>
            parent.versions.foreach(_.pass(record, index, list))
          }
          table.answer(parent)
          synchronized {
            children.flatMap(table.name(parent, _, clock.millis)).foreach { child =>
              if (isParent(child)) queue.prepend(child) else queue.append(child)
            }
            notifyAll()
          }
          // A parent is not left in the middle: the next poll would begin it again.
          isWhole = reader.atEnd
        }
      }
    catch {
      case error: EpochalException if level > 0 && requests.isGone(level, list, None, error) =>
        lose(parent, error)
        isWhole = true
    }
    if (isWhole) parent.versions.foreach(_.end(): Unit)
    // A read of changes names no list that has stayed.
    table.endRead(parent, isWhole && parent.versions.isEmpty, clock.millis)
    if (once) table.defer(parent, Long.MaxValue)
  }

  /** Receives pages of a member: to its end, or one if others wait for their turn. */
  private def visit(member: Member): Unit = {
    val (start, params) = (member.position, table.params(member))
    val every = lineage.leaf.of(params)
    if (start.next.token.isEmpty) member.versions.foreach(_.begin(clock.instant()))
    val list = member.versions.fold(every)(_.passRequests(every))
    // An earlier pass has delivered records: its end was proven.
    val endedBefore = member.versions.nonEmpty && start.records > 0
    var (rows, empty) = (0L, 0)
    try
      Using.resource(requests.reader(leaf, list, start.state, endedBefore)) { reader =>
        var continues = true
        while (continues && reader.hasNext) {
          val records = receive(member, list, params, reader)
          rows += records
          empty = if (records == 0 && !reader.isBounded) empty + 1 else 0
          continues = empty < PagingOptions.EmptyPagesPerPoll && !ends && !othersWait
        }
        val isLong = empty >= PagingOptions.EmptyPagesPerPoll
        val repeats = reader.atEnd && once && start.isResumed
        synchronized {
          if (isLong) skipped = true
          if (repeats || !reader.atEnd && !isLong) {
            table.defer(member, clock.millis)
            again.append(member)
            notifyAll()
          } else rest(member, rows > 0)
        }
      }
    catch {
      case error: EpochalException if requests.isGone(leaf, list, member.position.next.token, error) =>
        lose(member, error)
        rest(member, rows > 0)
    }
  }

  /** Receives the next page of a member.
    *
    * @return
    *   its number of new records
    */
  private def receive(member: Member, list: ListRequests, params: Map[String, String], reader: ListReader): Int = {
    val start = member.position
    val missing = reader.next().missing
    if (missing > 0)
      log.warn(
        list.errors.dataLoss(start.records - missing, start.records, "the last page has fewer records than before"))
    var (records, first) = (0, 0)
    reader.blocks.foreach { block =>
      member.versions.fold(Option(block))(_.fresh(block, first, list)).foreach { fresh =>
        val frame = fresh.behind(PageFront(lines, reader.page.origin, params).bytes)
        records += fresh.records
        synchronized {
          tail.add(frame.records, frame.bytes, frame.from, frame.length)
          budget.spend(fresh.length.toLong)
        }
      }
      first += block.records
    }
    val page = start.after(reader.state, reader.atEnd, records, clock.millis)
    val hasChanges = reader.atEnd && member.versions.exists(_.end())
    table.answer(member)
    table.move(
      member,
      if (reader.atEnd && member.versions.nonEmpty) page.atEndOfPass(hasChanges) else page,
      records > 0 || hasChanges || page.next.token.nonEmpty && page.next.token != start.next.token)
    records
  }

  private def rest(member: Member, hasChanged: Boolean): Unit =
    if (once) table.defer(member, Long.MaxValue) else table.rest(member, hasChanged, clock.millis)

  private def othersWait: Boolean = synchronized(queue.nonEmpty || again.nonEmpty || reading > 0)

  private def lose(list: Member, error: EpochalException): Unit = synchronized {
    if (table.lose(list)) log.info(s"A list is gone and is skipped: ${error.problem}")
    if (!table.hasAnswered(list.level)) {
      missing :+= list.level -> error
      if (missing.size >= MaxGone) stopped = true
    }
  }
}
