package io.epochal.rest.source

import java.time.Clock

import scala.collection.mutable

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.kit.source.journal.{FeedLog, Feeding, ReadAhead, SourceJournal}
import io.epochal.kit.source.{Extent, PollBudgets, PositionCodec, Supply}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.{HttpBudget, HttpCounters}

/** Creates the supplies of one stream.
  *
  * @param tasks
  *   maximum partitions of a batch, and connections of the driver, if `numPartitions` is not set
  * @param polls
  *   begun by the stream, for all lists together
  */
final private[rest] class RestSupply(counters: HttpCounters, tasks: => Int, clock: Clock, polls: PollBudgets) {
  private val ahead = new ReadAhead(polls)

  /** The records of one list, or of all members of a table, which do not support feeds.
    *
    * @param store
    *   the journal's directory
    */
  def of(options: RestOptions, store: HadoopFileStore): Supply[RestPosition] = options.fanOut match {
    case None => of(options, store, tasks)
    case Some(fanOut) =>
      def member(options: RestOptions, parts: () => Int) =
        of(options, store.below(FanOut.directory(options.requests.params)), parts())
      new FanOutSupply(options, fanOut, member, () => options.numPartitions.getOrElse(tasks))
  }

  private def members(options: RestOptions, lineage: Lineage, store: HadoopFileStore, tasks: => Int): MemberSupply = {
    def parts = options.numPartitions.getOrElse(tasks)
    val journal = new SourceJournal(store, options.source, MemberPositions, options.errors.dataLoss(_, _, _), parts)
    val log = new MemberLog(store.below("members"), options.errors, lineage.leaf.keys)
    val connections = if (lineage.isAlone) 1 else options.requests.http.budget.maxConcurrency.getOrElse(parts)
    new MemberSupply(new MemberRequests(lineage, counters, clock, connections), journal, log, ahead)
  }

  private def of(options: RestOptions, store: HadoopFileStore, parts: => Int): Supply[RestPosition] =
    if (options.polledLineage.nonEmpty) members(options, options.polledLineage.get, store, parts)
    else if (options.journal) journalSupply(options, store, None, parts)
    else new LiveSupply(new RestList(options, RestJournal(options, store, parts), counters, clock, ahead, None, parts))

  /** The records of one list that is received into the journal.
    *
    * @param codec
    *   the JSON form of the stream's positions, if it may be continuous
    */
  def journalSupply(
      options: RestOptions,
      store: HadoopFileStore,
      codec: Option[PositionCodec[RestPosition]],
      parts: => Int = tasks): RestReceiver = {
    val pause = options.values.get(PollOptions.RefreshInterval).getOrElse(PollOptions.LeastInterval)
    val feeding =
      codec.map(Feeding(new FeedLog(store, options.source), _, pause, options.values(PollOptions.MaxJournalBytes)))
    val list = new RestList(options, RestJournal(options, store, parts), counters, clock, ahead, feeding, parts)
    options.requests.paging match {
      case chain: ChainedPagination => new ChainSupply(list, chain)
      case _                        => new CountedSupply(list)
    }
  }
}

/** A supply for each row of a table, each with its own position. A member that has left the table is not polled and
  * keeps its position; logged batches with its records can still be read.
  *
  * @param supplyOf
  *   creates the supply of a member with these options, with a maximum number of partitions
  * @param tasks
  *   maximum partitions of a batch
  */
final private[rest] class FanOutSupply(
    template: RestOptions,
    fanOut: FanOut,
    supplyOf: (RestOptions, () => Int) => Supply[RestPosition],
    tasks: () => Int
) extends Supply[RestPosition] {

  final private class Member(val options: RestOptions) {
    val supply: Supply[RestPosition] = supplyOf(options, () => FanOutPlan.split(reading, tasks()))
    if (once) supply.freezeEnd()

    /** Under AvailableNow: the member's end. */
    var target: Option[Long] = None
  }

  private val members = mutable.LinkedHashMap.empty[Map[String, String], Member]
  private var waiting = IndexedSeq.empty[Long]
  private var removedRecords = 0L
  private var reading = fanOut.table.size
  private var once = false

  override def available(start: RestPosition, most: Long): Long = {
    removedRecords = start.lists.iterator.collect {
      case (params, at) if !fanOut.table.contains(params) => at.records
    }.sum
    waiting = fanOut.table.map(params => available(member(params), start.of(params), most)).toIndexedSeq
    waiting.sum
  }

  override def take(start: RestPosition, records: Long): RestPosition = {
    val shares = FairShare.of(records, waiting, (start.records % fanOut.table.size).toInt)
    val positions = fanOut.table.zip(shares).collect {
      case (params, share) if share > 0 || member(params).supply.paused =>
        params -> member(params).supply.take(start.of(params), share)
    }
    if (start.lists.isEmpty && positions.isEmpty) start else RestPosition.FannedOut(start.lists ++ positions)
  }

  /** The extents of the table's members, including the records of removed ones. */
  override def known: Option[Extent] = {
    val each = fanOut.table.map(params => members.get(params).flatMap(_.supply.known))
    Option.when(each.forall(_.nonEmpty)) {
      val exists = removedRecords + each.flatten.map(_.exists).sum
      Extent(exists, if (each.flatten.forall(_.exact)) exists else Long.MaxValue)
    }
  }

  override def latest: Option[RestPosition] = known.map(extent => RestPosition.Planned(extent.exists))

  override def rowsBefore(position: RestPosition): Long = position.records

  override def paused: Boolean = members.values.exists(_.supply.paused)

  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] = {
    val moved = end.listsInOrder.filter { case (params, to) => to.records > start.of(params).records }
    reading = math.max(1, moved.size)
    val parts = moved.flatMap { case (params, to) =>
      val member = this.member(params)
      member.supply.partitions(start.of(params), to).map(MemberPartition(member.options.requests, _))
    }
    FanOutPlan.group(parts, template.requests.http.budget, tasks())
  }

  override def release(end: RestPosition): Unit =
    members.foreach { case (params, member) => member.supply.release(end.of(params)) }

  /** Each member ends where its own next poll finds the end; its later records do not displace another's. */
  override def freezeEnd(): Unit = {
    once = true
    members.values.foreach(_.supply.freezeEnd())
  }

  override def close(): Unit = members.values.foreach(_.supply.close())

  private def available(member: Member, start: RestPosition, most: Long): Long = {
    val left = member.target.fold(most)(end => math.min(most, math.max(0L, end - start.records)))
    val records = member.supply.available(start, left)
    if (once && member.target.isEmpty)
      member.target =
        member.supply.known.filter(_.exact).map(extent => math.max(extent.exists, start.records + records))
    math.min(member.target.fold(left)(end => math.min(left, math.max(0L, end - start.records))), records)
  }

  private def member(params: Map[String, String]): Member =
    members.getOrElseUpdate(params, new Member(fanOut.member(params, template)))
}

/** Which task reads which members. */
private[rest] object FanOutPlan {

  /** Number of partitions per member that keeps all tasks busy. */
  def split(members: Int, tasks: Int): Int = math.max(1, tasks / math.max(1, members))

  /** At most `tasks` partitions that hold all parts; their shares add up to the budget. */
  def group(parts: Seq[MemberPartition], budget: HttpBudget, tasks: Int): Array[InputPartition] = {
    val count = math.min(parts.size, budget.tasks(tasks))
    budget
      .shares(count)
      .zipWithIndex
      .map { case (share, i) =>
        val mine = parts.slice(bound(i, parts.size, count), bound(i + 1, parts.size, count))
        MemberPartitions(mine.map(part =>
          part.copy(partition = part.partition match {
            case live: RestPartition   => live.copy(share = share)
            case chain: ChainPartition => chain.copy(share = Some(share))
            case other                 => other
          })))
      }
      .toArray
  }

  private def bound(i: Int, parts: Int, tasks: Int): Int = (i.toLong * parts / tasks).toInt
}

/** Distributes a batch's rows over members. */
private[rest] object FairShare {

  /** Takes equally from each backlog; what a smaller backlog cannot use goes to the others (max-min fairness).
    *
    * @param total
    *   at most the sum of the backlogs
    * @param first
    *   index of the first backlog that gets one of the remaining rows
    */
  def of(total: Long, backlogs: IndexedSeq[Long], first: Int): IndexedSeq[Long] = {
    val cap = level(total, backlogs)
    val shares = backlogs.map(math.min(_, cap)).toArray
    val rest = total - shares.sum
    backlogs.indices
      .map(i => (first + i) % backlogs.size)
      .filter(backlogs(_) > cap)
      .take(rest.toInt)
      .foreach(shares(_) += 1)
    shares.toIndexedSeq
  }

  /** The greatest equal share of the backlogs that are at least as large. */
  private def level(total: Long, backlogs: IndexedSeq[Long]): Long = {
    var left = total
    val ascending = backlogs.sorted
    val larger = ascending.indices.find { i =>
      val fits = ascending(i) <= left / (ascending.size - i)
      if (fits) left -= ascending(i)
      !fits
    }
    larger.fold(Long.MaxValue)(i => left / (ascending.size - i))
  }
}

/** The partitions that one task reads, in sequence. */
final private[rest] case class MemberPartitions(parts: Seq[MemberPartition]) extends InputPartition
