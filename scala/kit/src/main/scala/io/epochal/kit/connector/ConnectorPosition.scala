package io.epochal.kit.connector

import io.epochal.core.journal.Segment

/** A position with the number of rows before it, counted from where the query began.
  *
  * @param journal
  *   the segments that hold rows before it; None if nothing was received, as from an origin that can be read again
  * @param tails
  *   where each of several tasks of a continuous or real-time query ended that delivered the rows before it
  */
final private[connector] case class ConnectorPosition[P](
    rows: Long,
    position: P,
    journal: Option[Seq[Segment]] = None,
    tails: Seq[P] = Nil)
