package io.epochal.formats

import java.util.Locale
import java.util.regex.Pattern

import scala.util.matching.Regex

import org.apache.spark.sql.SparkSessionExtensions

import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.spark.{DriverConf, MaskedStatements}

/** `spark.sql.extensions=io.epochal.formats.EpochalExtensions`: keeps secrets in SQL statements
  * (`CREATE TEMPORARY VIEW … USING epochal-rest OPTIONS (…)`) out of Spark's event log and UI. Does not change the behaviour of
  * statements.
  */
final class EpochalExtensions extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    StatementRedaction.install()
    MaskedStatements.install(
      extensions,
      StatementRedaction.isOurs,
      StatementRedaction.hideUnknown,
      StatementRedaction.statement)
  }
}

/** Redacts secrets in SQL statements and Spark Connect plans in events and in the UI. */
private[epochal] object StatementRedaction {

  private val Texts = "spark.sql.redaction.string.regex"
  private val DefaultTexts = "spark.redaction.string.regex"

  /** Extends the redaction patterns of all later sessions. */
  def install(): Unit = if (!PlanRedaction.isInstalled) {
    PlanRedaction.install(Epochal.formats)
    val before = DriverConf.get(Texts).orElse(DriverConf.get(DefaultTexts)).filter(_.nonEmpty)
    DriverConf.set(Texts, (before.map(pattern => s"(?:$pattern)").toSeq :+ statements).mkString("|"))
  }

  def isOurs(format: String): Boolean = format.toLowerCase(Locale.ROOT).startsWith("epochal-")

  /** Hides unknown options, which may be misspelt secrets. Called before the plan of a statement is printed.
    *
    * @param format
    *   the format that the options are for
    */
  def hideUnknown(format: String, options: Set[String]): Unit =
    if (isOurs(format)) PlanRedaction.hide(options.filterNot(name => Epochal.formats.exists(_.knows(name))))

  /** Matches the options of a statement or a Spark Connect plan if they contain secrets or belong to our formats. Matches up to the end
    * of the text, since a literal can end in many ways and the text may be truncated.
    */
  lazy val statement: Regex = statements.r

  private lazy val statements: String = {
    val start = """(?:\b(?:options|with|\w*properties)\s*\(|\boptions\s*\{)"""
    val names = PlanRedaction.secrets(Epochal.formats).map { name =>
      if (name.endsWith(".")) Pattern.quote(name) else s"${Pattern.quote(name)}\\b"
    }
    val url = """url\W{1,12}(?:value\W{1,6})?[^\s'"]*[?@;]"""
    // In a parsed plan: TableSpec(…,Some(epochal-rest),HashMap(…)) and provider:epochal-rest HashMap(…).
    val providerPattern = "(?:\\bSome\\(|provider:)epochal-(?:rest|jdbc|ingest|cdc)\\b.*"
    s"(?is:$start(?=.*?(?<!\\w)(?:${names.mkString("|")}|$url)).*|epochal-(?:rest|jdbc|ingest|cdc)\\b.{0,10000}?\\boptions\\s*[({].*|$providerPattern)"
  }
}
