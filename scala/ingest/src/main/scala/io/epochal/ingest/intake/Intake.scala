package io.epochal.ingest.intake

import java.util.concurrent.CompletableFuture

/** Stores arrivals in the journal. Thread-safe.
  *
  * Arrivals are stored in the order of the calls to `accept`. Arrivals of several callers share one sync of the journal, so waiting
  * for a receipt does not reduce throughput.
  */
trait Intake {

  /** Queues an arrival and returns immediately.
    *
    * The future completes on the journal's thread: callbacks must be short or run on another thread. It never completes
    * exceptionally; a failure is a [[Receipt.Failed]]. The caller must not modify the arrival's arrays afterwards.
    */
  def accept(arrival: Arrival): CompletableFuture[Receipt]

  /** The id of this run, unique over all listeners. Acknowledgements name it, so that a client notices another listener on the
    * port.
    */
  def run: String

  /** Whether an arrival would be accepted now. While it is false, a listener that can hold back its clients stops reading. */
  def hasRoom: Boolean

  /** Gauges for Prometheus: name, description, value. */
  def gauges: Seq[(String, String, Long)] = Nil
}
