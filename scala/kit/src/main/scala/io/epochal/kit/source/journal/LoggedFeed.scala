package io.epochal.kit.source.journal

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{Generation, JournalPlan}

/** A feed on a driver in another process, through its log, which is read repeatedly (F2). */
final private class LoggedFeed(rows: FeedRows) extends FeedView {
  final private val PauseMillis = 100L

  override def await(row: Long, millis: Long): Option[JournalPlan] = {
    val newest = FeedLog.newest(rows.store, rows.source)
    val found = newest.map { case (_, received) => received.segments.filter(_.until > row) }.filter(_.nonEmpty)
    // Checked after the file was read.
    def isLast = newest.exists { case (generation, _) =>
      Generation.highest(FeedLog.generations(rows.store)) <= generation
    }
    val plan = found.filter(_ => isLast).flatMap(FeedView.plan(rows.store, rows.source, _, row))
    if (plan.isEmpty) {
      newest.flatMap(_._2.failure).foreach { reason =>
        throw Conditions.FeedFailed("source" -> rows.source, "reason" -> reason)
      }
      if (millis > 0) Thread.sleep(math.min(millis, PauseMillis))
    }
    plan
  }
}
