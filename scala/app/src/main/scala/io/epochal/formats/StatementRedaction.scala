package io.epochal.formats

import java.util.Locale
import java.util.regex.Pattern

import scala.util.matching.Regex

import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.spark.DriverConf

/** Keeps secrets that stand in statements of SQL, and in plans of Spark Connect, out of events and pages. */
private[epochal] object StatementRedaction {

  private val Texts = "spark.sql.redaction.string.regex"
  private val DefaultTexts = "spark.redaction.string.regex"

  /** Widens the patterns that every later session begins with. */
  def install(): Unit = if (!PlanRedaction.isInstalled) {
    PlanRedaction.install(Epochal.formats)
    val before = DriverConf.get(Texts).orElse(DriverConf.get(DefaultTexts)).filter(_.nonEmpty)
    DriverConf.set(Texts, (before.map(pattern => s"(?:$pattern)").toSeq :+ statements).mkString("|"))
  }

  def isOurs(format: String): Boolean = format.toLowerCase(Locale.ROOT).startsWith("epochal-")

  /** To be called before the plan of a statement is printed: an option that no format of ours has may be a misspelt secret.
    *
    * @param format
    *   to which the statement gives the options
    */
  def hideUnknown(format: String, options: Set[String]): Unit =
    if (isOurs(format)) PlanRedaction.hide(options.filterNot(name => Epochal.formats.exists(_.knows(name))))

  /** A statement, or a plan of Spark Connect, without its options: where they have secrets, or are those of our formats,
    * everything from there on is masked. A literal could end in many ways, and a text may have been cut.
    */
  lazy val statement: Regex = statements.r

  private lazy val statements: String = {
    val start = """(?:\b(?:options|with|\w*properties)\s*\(|\boptions\s*\{)"""
    val named = PlanRedaction.secrets(Epochal.formats).map { name =>
      if (name.endsWith(".")) Pattern.quote(name) else s"${Pattern.quote(name)}\\b"
    }
    val url = """url\W{1,12}(?:value\W{1,6})?[^\s'"]*[?@;]"""
    // As a parsed plan has them: TableSpec(…,Some(epochal-rest),HashMap(…)) and provider:epochal-rest HashMap(…).
    val parsed = "(?:\\bSome\\(|provider:)epochal-(?:rest|jdbc|ingest)\\b.*"
    s"(?is:$start(?=.*?(?<!\\w)(?:${named.mkString("|")}|$url)).*|epochal-(?:rest|jdbc|ingest)\\b.{0,10000}?\\boptions\\s*[({].*|$parsed)"
  }
}
