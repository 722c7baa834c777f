package io.epochal.ingest.http

import java.time.Clock
import java.util.concurrent.Executor

import io.epochal.ingest.http.auth.{Admission, OpenAdmission}
import io.epochal.ingest.http.body.BodyBudget
import io.epochal.ingest.intake.Intake

/** What all requests of a listener share.
  *
  * @param executor
  *   answers requests, away from the journal's thread
  */
final private[http] class Shared(val settings: HttpSettings, val intake: Intake, val executor: Executor, clock: Clock) {
  val counters = new HttpCounters
  val budget = new BodyBudget(settings.limits.maxBufferedBytes)
  val admission: Admission = settings.admission.fold[Admission](OpenAdmission)(_.open(clock))

  def nowMicros: Long = {
    val now = clock.instant
    now.getEpochSecond * 1000000L + now.getNano / 1000
  }
}
