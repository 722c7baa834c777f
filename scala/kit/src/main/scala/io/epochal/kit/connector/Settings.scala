package io.epochal.kit.connector

import java.util
import java.util.Optional

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.annotation.Stable
import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionValues, RetryOptions, SourceOptions}
import io.epochal.core.retry.RetrySettings

/** The options of one query, checked. Prints without secrets. */
@Stable
final class Settings private[connector] (
    private[connector] val raw: Map[String, String],
    private[connector] val values: OptionValues) {

  /** The value given, else the default.
    *
    * @throws NoSuchElementException
    *   for an option with neither: use `find`
    */
  def get[A](option: OptionSpec[A]): A = values(option)

  /** The value given, else the default; empty where there is neither. */
  def find[A](option: OptionSpec[A]): Optional[A] = values.get(option).toJava

  /** Whether the user gave it. */
  def isSet(option: OptionSpec[_]): Boolean = values.isSet(option)

  /** The members of a family of options (`headers.*`), by what follows the prefix. */
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

  /** An error of the connector's own, which users can recognise by its name.
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

  /** Reports rows of a source that are gone: throws DATA_LOSS, or with failOnDataLoss=false logs a warning and returns.
    *
    * @param from
    *   the position before the first of them
    * @param until
    *   the position after the last
    * @param reason
    *   completes "…: <reason>."
    */
  def lost(from: Any, until: Any, reason: String): Unit = {
    val error = loss(from, until, reason)
    if (values(SourceOptions.FailOnDataLoss)) throw error
    SettingsReader.log.warn(error.problem)
  }

  /** The warning of rows that are gone from the journal; throws where that fails the query. */
  private[connector] def lostRows(from: Long, until: Long, reason: String): String = {
    val error = loss(from, until, reason)
    if (values(SourceOptions.FailOnDataLoss)) throw error
    error.problem
  }

  private def loss(from: Any, until: Any, reason: String): EpochalException =
    Conditions.DataLoss(
      "source" -> values.group.format,
      "from" -> String.valueOf(from),
      "until" -> String.valueOf(until),
      "reason" -> reason)

  private[connector] def retry: RetrySettings = RetryOptions.settings(values)

  override def toString: String = values.toString
}

/** No companion: MiMa takes a class for internal whose companion is. */
private[connector] object SettingsReader {
  val log: Logger = LoggerFactory.getLogger(classOf[Settings])

  def read(group: OptionGroup, raw: Map[String, String]): Either[EpochalException, Settings] =
    group.parse(raw).map(new Settings(raw, _))
}
