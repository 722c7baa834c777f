package io.epochal.rest.source

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.Segment
import io.epochal.kit.source.journal.{JournalTail, JournalledSupply, ReadAhead, SourceJournal}
import io.epochal.kit.source.{Extent, PollBudget}

/** Receives the pages of the members that a parent's records name into one journal: each page is a frame with the values of
  * its member. The positions of the members are in a [[MemberLog]], to which offsets refer.
  *
  * Members are found again after each start; what was logged before is read from the journal, whatever the parents list by
  * then.
  */
final private[rest] class MemberSupply(
    requests: MemberRequests,
    journal: SourceJournal[RestPosition, Seq[Segment]],
    log: MemberLog,
    ahead: ReadAhead)
    extends JournalledSupply[RestPosition, Seq[Segment]](journal, ahead) {

  private var table = Option.empty[MemberTable]
  private var once = false
  private var skipped = false

  /** Whether the last poll has deferred the error of a list: it does not happen twice in a row. */
  private var deferred = false
  @volatile private var counts = (0, 0)

  /** The number of members, and of those that are gone. */
  def metrics: Map[String, String] =
    if (requests.lineage.isAlone) Map.empty
    else Map("members" -> counts._1.toString, "membersGone" -> counts._2.toString)

  /** Each member ends where its own next poll finds the end. */
  override def freezeEnd(): Unit = once = true

  override def paused: Boolean = skipped || super.paused

  override protected def reset(): Unit = table = None

  override protected def receive(tail: MemberSupply.Tail, most: Long, budget: PollBudget): Boolean = {
    val members = table.getOrElse(read(tail.cursor))
    table = Some(members)
    skipped = false
    if (members.nextDue > requests.clock.millis) {
      report(Extent(tail.until, tail.until))
      false
    } else {
      val poll = new MemberPoll(requests, members, tail, most, budget, once)
      val before = deferred
      deferred = false
      tail.receive {
        poll.run(error => !before && isTransient(error))
        if (tail.available > 0 || poll.hasSkipped || poll.isCut) log.add(members, tail.cursor) else tail.cursor
      }
      deferred = poll.isDeferred
      skipped = poll.hasSkipped
      report(Extent(tail.until, if (poll.isCut) Long.MaxValue else tail.until))
      counts = members.counts
      poll.isCut && tail.available < most
    }
  }

  override protected def isTransient(error: EpochalException): Boolean = RestReceiver.isTransient(error)

  override protected def logged(end: RestPosition): Unit = log.sweep(end)

  override def release(end: RestPosition): Unit = {
    super.release(end)
    log.release(end)
  }

  override def close(): Unit = {
    super.close()
    requests.close()
  }

  private def read(segments: Seq[Segment]): MemberTable = {
    val read = new MemberTable(requests.lineage)
    log.read(segments, read)
    read
  }
}

private[rest] object MemberSupply {
  type Tail = JournalTail[RestPosition, Seq[Segment]]
}
