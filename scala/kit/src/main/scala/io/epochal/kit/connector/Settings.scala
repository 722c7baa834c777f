package io.epochal.kit.connector

import java.util
import java.util.Optional

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import io.epochal.core.annotation.Stable
import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.core.option.{OptionSpec, OptionValues, RetryOptions, SourceOptions}
import io.epochal.core.retry.RetrySettings

/** The checked options of one query. Prints without secrets. */
@Stable
final class Settings private[connector] (
    private[connector] val raw: Map[String, String],
    private[connector] val values: OptionValues) {

  /** The given value, else the default.
    *
    * @throws NoSuchElementException
    *   for an option with neither: use `find`
    */
  def get[A](option: OptionSpec[A]): A = values(option)

  /** The given value, else the default; empty if there is neither. */
  def find[A](option: OptionSpec[A]): Optional[A] = values.get(option).toJava

  /** Whether the user has set it. */
  def isSet(option: OptionSpec[_]): Boolean = values.isSet(option)

  /** The members of a family of options (`headers.*`), by their names without the prefix. */
  def family[A](option: OptionSpec[A]): util.Map[String, A] = values.family(option).asJava

  /** The error for an option whose value is wrong: `throw settings.invalid(URL, url, "an address that begins with https")`.
    *
    * @param expected
    *   completes "which is not …"
    */
  def invalid(option: OptionSpec[_], value: String, expected: String): EpochalException =
    values.group.invalid(option, value, expected)

  /** The error for options that exclude each other.
    *
    * @param options
    *   the options, as given
    * @param advice
    *   one sentence: what to do
    */
  def conflict(options: String, advice: String): EpochalException = values.conflict(options, advice)

  /** The connector's own error, with a name by which users can recognise it.
    *
    * @param name
    *   in upper case, like LOG_FILE_TRUNCATED
    * @param problem
    *   one sentence: what happened, with the values, without secrets
    * @param hint
    *   one sentence: what to do
    */
  def failure(name: String, problem: String, hint: String): EpochalException =
    Condition(name, "<problem>", "<hint>")("problem" -> problem, "hint" -> hint)

  /** Reports lost rows of a source: throws DATA_LOSS, or logs a warning and returns with failOnDataLoss=false.
    *
    * @param from
    *   the position before the first of them
    * @param until
    *   the position after the last
    * @param reason
    *   completes "…: <reason>."
    */
  def lost(from: Any, until: Any, reason: String): Unit = SettingsReader.log.warn(lostRows(from, until, reason))

  /** The warning about lost rows; throws DATA_LOSS with failOnDataLoss=true. */
  private[connector] def lostRows(from: Any, until: Any, reason: String): String =
    SourceOptions.lost(values.group.format, values(SourceOptions.FailOnDataLoss))(from, until, reason)

  private[connector] def retry: RetrySettings = RetryOptions.settings(values)

  override def toString: String = values.toString
}
