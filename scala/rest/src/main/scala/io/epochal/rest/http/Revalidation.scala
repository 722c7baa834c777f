package io.epochal.rest.http

import java.util.LinkedHashMap

/** The results of the latest responses, reused while the server replies 304 Not Modified. Not thread-safe.
  *
  * @param enabled
  *   if false, nothing is cached
  * @tparam K
  *   identifies a request
  * @tparam A
  *   the result of a response
  */
final private[epochal] class Revalidation[K, A](enabled: Boolean) {

  /** Polling repeats only a few requests. */
  final private val Remembered = 8

  private val responses = new LinkedHashMap[K, (Validator, A)]

  def validator(request: K): Option[Validator] = Option(responses.get(request)).map(_._1)

  /** The cached result of an unchanged response; evaluates `fresh` for any other. */
  def read(request: K, response: ResponseHead)(fresh: => A): A =
    if (response.notModified) responses.get(request)._2
    else {
      val came = fresh
      responses.remove(request)
      if (enabled) response.validator.foreach(validator => responses.put(request, (validator, came)))
      if (responses.size > Remembered) { val _ = responses.remove(responses.keySet.iterator().next()) }
      came
    }
}
