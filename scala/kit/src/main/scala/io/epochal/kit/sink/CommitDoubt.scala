package io.epochal.kit.sink

import io.epochal.core.error.{Conditions, EpochalException}

/** One step's COMMIT, over all of the step's attempts. If the response to a COMMIT is lost, the next attempt finds out whether it
  * took effect before it repeats anything (contract K7).
  *
  * {{{
  *   attempt ── COMMIT ──► done
  *      ▲          │ response lost
  *      │          ▼
  *      └─ not ─ in doubt: the next transaction looks ─ took effect ─► done
  * }}}
  *
  * @param losesConnection
  *   whether an error may have come after a COMMIT took effect
  */
final private[epochal] class CommitDoubt(losesConnection: Throwable => Boolean) {
  private var epoch = Option.empty[String]
  private var isSent = false
  private var isOpen = false
  private var lastId = Option.empty[String]

  /** The id of the last transaction that sent its COMMIT, by which the system may report its outcome. */
  def id: Option[String] = lastId

  def attempt[A](body: => A): A = {
    isSent = false
    try body
    catch {
      case error: Throwable =>
        isOpen ||= isSent && epoch.nonEmpty && losesConnection(error)
        throw error
    }
  }

  /** Called first in the transaction of a step that must not be repeated once it is committed.
    *
    * @param outcome
    *   the step's result if the COMMIT whose response was lost took effect; None: it did not
    * @return
    *   that result; None: there is no doubt, or no longer
    */
  def resolve[A](epoch: String)(outcome: => Option[A]): Option[A] = {
    this.epoch = Some(epoch)
    val result = if (isOpen) outcome else None
    isOpen &&= result.nonEmpty
    result
  }

  /** @param id
    *   of the transaction, if the system can report its outcome
    */
  def commit(id: Option[String])(body: => Unit): Unit = {
    isSent = true
    lastId = id
    body
  }

  /** The error of a step whose last attempt failed because of the system: COMMIT_UNKNOWN if the doubt remains. */
  def explained[E >: EpochalException <: Throwable](place: String, error: E): E =
    if (isOpen) CommitDoubt.unknown(place, epoch.get, String.valueOf(error.getMessage), error) else error
}

private[epochal] object CommitDoubt {
  def unknown(place: String, epoch: String, reason: String, cause: Throwable = null): EpochalException =
    Conditions.CommitUnknown.because(cause)("url" -> place, "epoch" -> epoch, "reason" -> reason)
}
