package io.epochal.rest.http

import java.util.{LinkedHashMap => Eldest}

import io.epochal.rest.http.request.{ResponseHead, Validator}

/** What responses to the latest few requests came to, for as long as the server says that they would be the same. One thread at a
  * time.
  *
  * @param enabled
  *   if not, nothing is remembered
  * @tparam K
  *   what tells requests apart
  * @tparam A
  *   what a response comes to
  */
final private[epochal] class Revalidation[K, A](enabled: Boolean) {
  import Revalidation._

  private val responses = new Eldest[K, (Validator, A)]

  /** What the request is to be made with. */
  def validator(request: K): Option[Validator] = Option(responses.get(request)).map(_._1)

  /** What a response comes to, which is read only where it is another one than before. */
  def read(request: K, response: ResponseHead)(fresh: => A): A =
    if (response.notModified) responses.get(request)._2
    else {
      val came = fresh
      responses.remove(request)
      if (enabled) response.validator.foreach(validator => responses.put(request, (validator, came)))
      if (responses.size > Remembered) { val _ = responses.remove(responses.keySet.iterator().next()) }
      came
    }

  def forget(request: K): Unit = { val _ = responses.remove(request) }
}

private object Revalidation {

  /** An API is looked at by a few requests, time and again. */
  private val Remembered = 8
}
