package io.epochal.ingest.http

import java.time.temporal.ChronoUnit
import java.time.{Clock, Instant}
import java.util.concurrent.Executor

import io.epochal.ingest.http.auth.Admission
import io.epochal.ingest.http.body.BodyBudget
import io.epochal.ingest.intake.Intake

/** State shared by all requests of a listener.
  *
  * @param executor
  *   sends responses, to keep that off the journal's thread
  * @param fatal
  *   takes an error of the JVM, which ends the query
  */
final private[http] class HttpState(
    val settings: ListenerSettings,
    val intake: Intake,
    val admission: Admission,
    val metrics: HttpMetrics,
    val clients: Clients,
    val executor: Executor,
    clock: Clock,
    val fatal: Throwable => Unit) {
  val budget = new BodyBudget(settings.maxBufferedBytes, clients.dropUpload(_))

  def nowMicros: Long = ChronoUnit.MICROS.between(Instant.EPOCH, clock.instant)
}
