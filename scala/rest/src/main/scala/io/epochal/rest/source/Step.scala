package io.epochal.rest.source

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.rest.http.{HttpCall, HttpStatuses}

/** The consequence of the responses so far, as a value: a paging decides, and [[PageRequests]] or a test answers the
  * requests.
  */
sealed private[rest] trait Step[+A] {
  import Step._

  def flatMap[B](continue: A => Step[B]): Step[B] = this match {
    case Done(value)                          => continue(value)
    case refusal: Refuse                      => refusal
    case Request(call, skip, tolerates, next) => Request(call, skip, tolerates, next(_).flatMap(continue))
  }

  def map[B](change: A => B): Step[B] = flatMap(value => Done(change(value)))
}

private[rest] object Step {

  final case class Done[A](value: A) extends Step[A]

  final case class Refuse(error: EpochalException) extends Step[Nothing]

  /** A request that must be answered first.
    *
    * @param skip
    *   number of records at the front of the page that were delivered before; None: no record of it is delivered, it only
    *   shows something about the list
    * @param tolerates
    *   failures that are an answer, too
    * @param next
    *   continues with the response; None after such a failure
    */
  final case class Request[A](
      call: HttpCall,
      skip: Option[Long],
      tolerates: EpochalException => Boolean,
      next: Option[PageAnswer] => Step[A])
      extends Step[A]

  val nothing: Step[Unit] = Done(())

  /** Refuses if there is an error. */
  def unless(error: Option[EpochalException]): Step[Unit] = error.fold(nothing)(Refuse(_))

  /** Requests a page that may not exist. */
  def attempt(call: HttpCall, tolerates: EpochalException => Boolean = _ => true): Step[Option[PageAnswer]] =
    Request(call, None, tolerates, Done(_))

  /** Whether a failure of a request that only proves an end is no proof: its status is an error, for a page size that the
    * user has never set. Others, and transient ones, fail.
    */
  def isNoProof(error: EpochalException): Boolean = error.condition == Conditions.HttpStatus && {
    val status = error.values("status").toInt
    status != 401 && !HttpStatuses.transient.contains(status)
  }
}
