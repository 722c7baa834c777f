package io.epochal.rest.http

import java.util.{LinkedHashMap => Eldest}

import io.epochal.rest.http.request.{HttpAnswer, Validator}

/** What answers to the latest few requests came to, for as long as the server says that they would be the same. One thread at a
  * time.
  *
  * @param enabled
  *   if not, nothing is remembered
  * @tparam K
  *   what tells requests apart
  * @tparam A
  *   what an answer comes to
  */
final private[epochal] class Revalidation[K, A](enabled: Boolean) {
  import Revalidation._

  private val answers = new Eldest[K, (Validator, A)]

  /** What the request is to be made with. */
  def validator(request: K): Option[Validator] = Option(answers.get(request)).map(_._1)

  /** What an answer comes to, which is read only where it is another one than before. */
  def read(request: K, answer: HttpAnswer)(fresh: => A): A =
    if (answer.notModified) answers.get(request)._2
    else {
      val came = fresh
      answers.remove(request)
      if (enabled) answer.validator.foreach(validator => answers.put(request, (validator, came)))
      if (answers.size > Remembered) { val _ = answers.remove(answers.keySet.iterator().next()) }
      came
    }

  def forget(request: K): Unit = { val _ = answers.remove(request) }
}

private object Revalidation {

  /** An API is looked at by a few requests, time and again. */
  private val Remembered = 8
}
