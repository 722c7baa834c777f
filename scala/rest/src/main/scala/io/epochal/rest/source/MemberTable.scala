package io.epochal.rest.source

import java.time.Duration

import scala.collection.mutable

/** The lists of a stream, by level and key: which of them exist at present, when each is polled next, and how far its
  * records are delivered. It changes only by its methods. Thread-safe.
  */
final private[rest] class MemberTable(lineage: Lineage) {
  import MemberTable._

  private val leaf = lineage.levels.size - 1
  private val lists = lineage.levels.map(_ => mutable.HashMap.empty[String, Member])

  /** By level, the names of values that do not select a list. */
  private val extras = lineage.levels.zip(lineage.keys).map { case (level, keys) => level.names.diff(keys) }

  /** The levels with a list that has answered. */
  private val answeredLevels = mutable.Set.empty[Int]
  private var polls = 0
  private var next = 0L

  /** The first ancestor, or the only list. */
  val root: Member = at(0, "")

  /** The lists whose records are delivered. */
  def members: Iterator[Member] = lists(leaf).valuesIterator

  /** When a list is due again, as of the last poll. */
  def nextDue: Long = synchronized(next)

  /** Begins a poll.
    *
    * @return
    *   the lists that are due, in order: first those above the members, then alternately the members that have waited
    *   longest, so that none starves, and those that changed most recently
    */
  def begin(now: Long): Seq[Member] = synchronized {
    polls += 1
    def isDue(list: Member) = list.due <= now && isListed(list)
    val above = lists.init.flatMap(_.valuesIterator.filter(isDue))
    val waiting = members.filter(isDue).toVector
    val latest = waiting.filter(_.position.lastReceipt > 0).sortBy(-_.position.lastReceipt)
    val alternately = waiting.sortBy(_.due).map(Option(_)).zipAll(latest.map(Option(_)), None, None)
    val order = above ++ alternately.flatMap { case (longest, newest) => longest ++ newest }.distinct
    order.foreach(_.poll = polls)
    order
  }

  def end(): Unit = synchronized {
    next = lists.iterator.flatMap(_.valuesIterator).filter(isListed).map(_.due).min
  }

  /** A record of a parent names a list of the next level, with these values.
    *
    * @return
    *   the list, if it is due and has no turn in this poll yet
    */
  def name(parent: Member, values: Map[String, String], now: Long): Option[Member] = synchronized {
    val level = parent.level + 1
    val key = MemberTable.key(lineage.keys(level), values)
    if (!lists(level).contains(key)) parent.names += 1
    val list = at(level, key)
    if (extras(level).nonEmpty)
      list.extras = extras(level).map(values.get(_).fold("")(s"$Given" + _)).mkString(s"$Separator")
    list.parent = parent
    list.parentRead = parent.reads + 1
    Option.when(list.due <= now && list.poll != polls) {
      list.poll = polls
      list
    }
  }

  /** Ends a read of a parent, until its next poll.
    *
    * @param isWhole
    *   whether lists that it has not named are gone from it
    */
  def endRead(parent: Member, isWhole: Boolean, now: Long): Unit = synchronized {
    if (isWhole) parent.reads += 1
    rest(parent, parent.names > 0, now)
    parent.names = 0
  }

  def answer(list: Member): Unit = synchronized {
    answeredLevels += list.level
    list.isGone = false
  }

  /** A page of a member was received.
    *
    * @param mustLog
    *   whether the log must have the new position
    */
  def move(member: Member, position: MemberPosition, mustLog: Boolean): Unit = synchronized {
    member.isUnlogged ||= mustLog || !member.isPositioned
    member.current = position
  }

  /** The API does not have a list any more.
    *
    * @return
    *   whether it had it before
    */
  def lose(list: Member): Boolean = synchronized {
    val had = !list.isGone
    list.isGone = true
    had
  }

  /** Whether a list of a level has answered, in this run or an earlier one. */
  def hasAnswered(level: Int): Boolean = synchronized(answeredLevels(level))

  /** Ends the turn of a list until its next poll. The first pauses differ, so that lists found together are not polled
    * together.
    *
    * @param hasChanged
    *   whether its poll found anything
    */
  def rest(list: Member, hasChanged: Boolean, now: Long): Unit = synchronized {
    val interval = lineage.levels(list.level).template.values.get(PollOptions.RefreshInterval)
    val isFirst = list.pause == 0
    list.pause = PollPace.pause(interval, Duration.ofMillis(list.pause), !hasChanged).toMillis
    val wait =
      if (isFirst && interval.nonEmpty) list.pause * (50 + Math.floorMod(list.hashCode, 50)) / 100 else list.pause
    list.due = now + wait
  }

  /** Ends the turn of a list that has more, or is not polled again. */
  def defer(list: Member, until: Long): Unit = synchronized { list.due = until }

  /** The values that select a list, and the others of its parents' records, as named last. */
  def params(list: Member): Map[String, String] = synchronized {
    values(lineage.keys(list.level), list.key) ++ values(extras(list.level), list.extras).collect {
      case (name, text) if text.nonEmpty => name -> text.drop(1)
    }
  }

  /** The numbers of members at present, and of those that the API has lost. */
  def counts: (Int, Int) = synchronized {
    members.filter(isListed).foldLeft((0, 0)) { case ((all, goneCount), one) =>
      (all + 1, goneCount + (if (one.isGone) 1 else 0))
    }
  }

  /** Members that have moved since they were logged. */
  def membersToLog: Seq[Member] = synchronized(members.filter(_.isUnlogged).toVector)

  def membersWithPosition: Iterator[Member] = members.filter(_.isPositioned)

  /** Marks the positions of these members as logged. */
  def log(entries: Seq[Member]): Unit = synchronized(entries.foreach { member =>
    member.isUnlogged = false
    member.versions.foreach(_.markLogged())
  })

  /** A member's position in the log.
    *
    * @param position
    *   gets the versions of its records
    */
  def restore(key: String)(position: Option[SinceVersions] => MemberPosition): Unit = synchronized {
    val member = at(leaf, key)
    answeredLevels ++= lists.indices
    member.current = position(member.versions)
  }

  private def at(level: Int, key: String): Member =
    lists(level).getOrElseUpdate(
      key,
      new Member(level, key, lineage.levels(level).template.since.map(new SinceVersions(_))))

  /** Whether the last complete read of its parent, or a later one, has named it; the same must hold for the parent. */
  private def isListed(list: Member): Boolean =
    list.level == 0 || list.parent != null && list.parentRead >= list.parent.reads && isListed(list.parent)
}

private[rest] object MemberTable {

  /** A list: one above the members, whose records name others, or a member, whose records are delivered. There may be very
    * many.
    *
    * @param level
    *   its index among those of the [[Lineage]]
    * @param key
    *   the values that select it, joined: see [[MemberTable.key]]
    * @param versions
    *   of its records, if these may change
    */
  final class Member private[MemberTable] (val level: Int, val key: String, val versions: Option[SinceVersions]) {
    private[MemberTable] var current = MemberPosition.Start
    private[MemberTable] var isUnlogged = false

    /** Values that do not select it, joined; '+' precedes each value that is present. */
    private[MemberTable] var extras = ""

    /** The list whose record names it, if one does in this run; and the read of that list which found it last. */
    private[MemberTable] var parent: Member = _
    private[MemberTable] var parentRead = 0

    /** How often it was read to its end, and how many new lists the last read has named. */
    private[MemberTable] var reads = 0
    private[MemberTable] var names = 0

    /** The moment of the next poll, and the pause before it, in milliseconds. */
    private[MemberTable] var due = 0L
    private[MemberTable] var pause = 0L

    /** The last poll in which it had a turn. */
    private[MemberTable] var poll = -1
    private[MemberTable] var isGone = false

    def position: MemberPosition = current

    /** Whether it has ever answered. */
    def isPositioned: Boolean = current ne MemberPosition.Start
  }

  /** Separates the values of a key; no value contains it. */
  val Separator = '\u0000'

  /** Precedes each value that is present. */
  private val Given = '+'

  def key(names: Seq[String], values: Map[String, String]): String = names.map(values).mkString(Separator.toString)

  def values(names: Seq[String], key: String): Map[String, String] =
    names.zip(key.split(Separator.toString, -1)).toMap
}
