package io.epochal.rest.source

import io.epochal.core.journal.Segment

/** How far the API has been delivered. Exclusive: with `records = 10` the records 0 to 9 are delivered. */
sealed trait RestPosition extends Product with Serializable {

  /** The number of records delivered. */
  def records: Long

  /** How often the list was restarted from its first record: `records` counts since then. */
  def crawl: Long = 0

  /** Digests of records before this position, or before the end of its journal, oldest first: a changed digest shows that
    * the list has shifted.
    */
  def marks: Seq[Mark] = Nil

  /** The segments of the journal that it names; None if its records were never journalled. */
  def journal: Option[Seq[Segment]] = None

  /** The segments of the journal with the positions of its lists: see [[MemberLog]]. */
  def log: Seq[Segment] = Nil

  /** The position of each list of a table, by the list's names and values. */
  def lists: Map[Map[String, String], RestPosition] = Map.empty

  /** The position of a list of a table: a missing one is at the start. */
  def of(list: Map[String, String]): RestPosition = lists.getOrElse(list, RestPosition.First)

  /** The lists, sorted by names and values. */
  def listsInOrder: Seq[(Map[String, String], RestPosition)] = {
    import scala.math.Ordering.Implicits.seqOrdering
    lists.toSeq.sortBy { case (params, _) => params.toSeq.sorted }
  }

  /** Whether nothing was received before it. */
  def isFirst: Boolean = this == RestPosition.First || this == RestPosition.Journalled(0, Nil)

  /** The first record delivered between this position and a later one. */
  def firstUntil(end: RestPosition): Long = if (crawl == end.crawl) records else 0L
}

object RestPosition {

  /** At the start of every stream. */
  val First: RestPosition = Planned(0)

  /** Of a counted list, whose records tasks request. */
  final case class Planned(records: Long, override val crawl: Long = 0, override val marks: Seq[Mark] = Nil)
      extends RestPosition

  /** Of one list that is received into the journal.
    *
    * @param segments
    *   those that hold records from the start of the batch that ends at this position, in order
    * @param next
    *   the page after the last segment; None if pages are found by counting records
    */
  final case class Journalled(
      records: Long,
      segments: Seq[Segment],
      next: Option[NextPage] = None,
      override val crawl: Long = 0,
      override val marks: Seq[Mark] = Nil)
      extends RestPosition {
    override def journal: Option[Seq[Segment]] = Some(segments)
  }

  /** Of many lists that are received into one journal, or of one that is read again at each poll.
    *
    * @param segments
    *   as of one list
    */
  final case class OfMembers(records: Long, segments: Seq[Segment], override val log: Seq[Segment])
      extends RestPosition {
    override def journal: Option[Seq[Segment]] = Some(segments)
  }

  /** Of the lists of a table. */
  final case class FannedOut(override val lists: Map[Map[String, String], RestPosition]) extends RestPosition {
    override val records: Long = lists.values.map(_.records).sum
  }
}
