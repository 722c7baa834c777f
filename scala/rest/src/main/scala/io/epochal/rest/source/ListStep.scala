package io.epochal.rest.source

import io.epochal.core.error.EpochalException

/** A computation about a counted list, as a value: the requests that it needs, its result, and the state after it.
  *
  * @param from
  *   runs it from a state
  */
final private[rest] class ListStep[+A](val from: CountedState => Step[(CountedState, A)]) {

  def flatMap[B](continue: A => ListStep[B]): ListStep[B] =
    new ListStep(from(_).flatMap { case (state, value) => continue(value).from(state) })

  def map[B](change: A => B): ListStep[B] = flatMap(value => ListStep.result(change(value)))
}

private[rest] object ListStep {

  val nothing: ListStep[Unit] = result(())

  def result[A](value: A): ListStep[A] = of(_ => value)

  /** A value of the state. */
  def of[A](value: CountedState => A): ListStep[A] = new ListStep(state => Step.Done(state -> value(state)))

  def update(change: CountedState => CountedState): ListStep[Unit] =
    new ListStep(state => Step.Done(change(state) -> (())))

  def refuse(error: EpochalException): ListStep[Nothing] = new ListStep(_ => Step.Refuse(error))

  /** Refuses if there is an error. */
  def unless(error: Option[EpochalException]): ListStep[Unit] = error.fold(nothing)(refuse)

  def when(condition: Boolean)(step: => ListStep[Any]): ListStep[Unit] =
    if (condition) step.map(_ => ()) else nothing
}
