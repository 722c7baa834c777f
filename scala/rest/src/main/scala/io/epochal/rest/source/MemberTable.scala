package io.epochal.rest.source

import scala.collection.mutable

import io.epochal.rest.http.Validator

/** A list above the members, which is read whole at each of its polls.
  *
  * @param level
  *   its index among those of the [[Lineage]]
  * @param key
  *   its key, as of a [[Member]]
  * @param params
  *   the values of its ancestors' records, as they were found last
  */
final private[rest] class Listing(val level: Int, val key: String, var params: Map[String, String]) extends Found {

  /** How often it was read to its end. */
  var reads = 0

  /** Whether the last read found lists that were not known. */
  var grown = false

  /** The value that its next read requests, if only changes are requested after the first one: what it named stays. */
  var versions: Option[SinceVersions] = None

  override def isPresent: Boolean = level == 0 || super.isPresent
}

/** A list whose records are delivered: its position and the time of its next poll. There may be very many.
  *
  * @param key
  *   the values that select it, joined: see [[MemberTable.key]]
  */
final private[rest] class Member(val key: String) extends Found {

  /** The values that do not select it, joined; '+' precedes each value that is present. */
  var extras: String = _
  var records = 0L
  var token: String = _
  var taken = 0L

  /** The validator of the last page, if that ended the list. */
  var unless: Validator = _

  /** Consecutive conditional polls, if a header names the next page. */
  var conditionalPolls = 0

  /** Whether the API has ever answered with records or an empty page. */
  var answered = false

  /** Whether the position is not in the log yet. */
  var moved = false

  /** When records were received last. */
  var changed = 0L

  /** Pages since the end of the list was last seen, and the hash of one of them. */
  var pages = 0
  var mark = 0L

  /** The versions of its records, if these may change. */
  var versions: Option[SinceVersions] = None

  /** Whether an earlier run began its pass. */
  var resumed = false

  def next: NextPage = NextPage(Option(token), taken)

  /** How far the list was followed. */
  def state: ChainState = ChainState(
    next,
    unless != null,
    Option(unless),
    conditionalPolls,
    pages,
    visited = if (pages == 0) LoopGuard() else LoopGuard(pages + 1, mark))

  def moveTo(state: ChainState): Unit = {
    token = state.next.token.orNull
    taken = state.next.taken
    unless = state.validator.orNull
    conditionalPolls = state.conditionalPolls
    pages = if (state.atEnd) 0 else state.pages
    mark = state.visited.mark
  }
}

/** A list that a parent's record has named. */
sealed private[rest] trait Found {

  /** The list with the record; null: none in this run. */
  var parent: Listing = _

  /** The read of the parent that found it last. */
  var seen = 0

  /** The moment of the next poll, in milliseconds since 1970. */
  var due = 0L

  /** The pause before it if no pause is set. */
  var pause = 0L

  /** Whether it waits for its turn in the present poll, or has it. */
  var queued = false

  /** Whether the API has answered with 404 or 410. */
  var gone = false

  /** Whether the last complete read of the parent, or a later one, has named it. */
  def isPresent: Boolean = parent != null && seen >= parent.reads && parent.isPresent
}

/** The lists of a stream, by their keys. Not thread-safe. */
final private[rest] class MemberTable(lineage: Lineage) {
  import MemberTable.{Given, Separator}

  private val members = mutable.HashMap.empty[String, Member]
  private val listings = mutable.HashMap.empty[(Int, String), Listing]

  /** The first ancestor. */
  val root: Listing = listing(0, "", Map.empty)

  /** The levels with a list that has answered, by index. */
  val answered: mutable.Set[Int] = mutable.Set.empty

  /** When a list is due again. */
  var nextDue = 0L

  private val leaf = lineage.levels.size - 1
  private val keys = lineage.leaf.keys
  private val extras = lineage.leaf.names.diff(keys)
  if (lineage.isAlone) member("").parent = root else listings((0, "")) = root

  def all: Iterator[Member] = members.valuesIterator
  def lists: Iterator[Listing] = listings.valuesIterator

  /** A member, which is added if it is not known. */
  def member(key: String): Member = members.getOrElseUpdate(
    key, {
      val one = new Member(key)
      one.versions = lineage.leaf.template.since.map(new SinceVersions(_))
      one
    })

  private def listing(level: Int, key: String, params: Map[String, String]): Listing = {
    val one = new Listing(level, key, params)
    one.versions = lineage.levels(level).template.since.map(new SinceVersions(_))
    one
  }

  /** Lists that a record of a parent names.
    *
    * @param values
    *   of the names that the next level has
    * @return
    *   whether it was not known
    */
  def found(parent: Listing, values: Map[String, String]): (Found, Boolean) = {
    val level = parent.level + 1
    val (one, isNew) =
      if (level == leaf) {
        val key = MemberTable.key(keys, values)
        val isNew = !members.contains(key)
        val one = member(key)
        if (extras.nonEmpty)
          one.extras = extras.map(values.get(_).fold("")(s"$Given" + _)).mkString(s"$Separator")
        (one, isNew)
      } else {
        val key = MemberTable.key(lineage.keys(level), values)
        val isNew = !listings.contains((level, key))
        val one = listings.getOrElseUpdate((level, key), listing(level, key, values))
        one.params = values
        (one, isNew)
      }
    one.parent = parent
    one.seen = parent.reads + 1
    (one, isNew)
  }

  /** The values of a member that was found in this run. */
  def params(member: Member): Map[String, String] =
    MemberTable.values(keys, member.key) ++ (if (extras.isEmpty) Map.empty
                                             else
                                               MemberTable.values(extras, member.extras).collect {
                                                 case (name, text) if text.nonEmpty => name -> text.drop(1)
                                               })

  /** The lists that are due, in the order of their polls: first those above the members, then alternately the members
    * that have waited longest, so that none starves, and those that changed most recently.
    */
  def ready(now: Long): Seq[Found] = {
    val above = lists.filter(one => one.isPresent && one.due <= now).toVector.sortBy(_.level)
    val waiting = all.filter(one => one.due <= now && one.isPresent).toArray
    val longest = waiting.sortBy(_.due)
    val latest = waiting.filter(_.changed > 0).sortBy(-_.changed)
    val order = mutable.ArrayBuffer.empty[Found]
    order.sizeHint(waiting.length + above.size)
    order ++= above
    def take(from: Array[Member], at: Int): Int = {
      var i = at
      while (i < from.length && from(i).queued) i += 1
      if (i < from.length) {
        from(i).queued = true
        order += from(i)
      }
      i
    }
    var (i, j) = (0, 0)
    while (i < longest.length) {
      i = take(longest, i)
      j = take(latest, j)
    }
    above.foreach(_.queued = true)
    order.toSeq
  }
}

private[rest] object MemberTable {

  /** Between the values of a key; no value has it. */
  val Separator = '\u0000'

  /** Before a value that a record has. */
  private val Given = '+'

  def key(names: Seq[String], values: Map[String, String]): String = names.map(values).mkString(Separator.toString)

  def values(names: Seq[String], key: String): Map[String, String] =
    names.zip(key.split(Separator.toString, -1)).toMap
}
