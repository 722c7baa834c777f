package io.epochal.rest.http

import java.time.Duration

/** The pause that a response demands.
  *
  * @param length
  *   None: no pause is demanded, or its length cannot be read
  * @param unread
  *   names and values of headers that demand a pause and cannot be read
  */
final private[http] case class Pause(length: Option[Duration], unread: Seq[(String, String)] = Nil) {

  /** Both pauses: the longer one. */
  def and(other: Pause): Pause = Pause((length ++ other.length).maxOption, unread ++ other.unread)

  /** This pause, or `other` if this one has no known length. */
  def orElse(other: => Pause): Pause = if (length.isDefined) this else and(other)
}
