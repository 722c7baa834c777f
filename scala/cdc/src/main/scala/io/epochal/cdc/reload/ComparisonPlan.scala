package io.epochal.cdc.reload

import java.time.Duration

/** How tables are compared with their replicas.
  *
  * @param interval
  *   between two comparisons of a table; None: only when one is requested
  * @param rowsPerSecond
  *   the rate at which rows are read for it
  */
final private[cdc] case class ComparisonPlan(purpose: ReloadPurpose, interval: Option[Duration], rowsPerSecond: Long)
