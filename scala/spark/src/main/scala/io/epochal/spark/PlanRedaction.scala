package io.epochal.spark

import java.util.Locale
import java.util.concurrent.atomic.AtomicBoolean
import java.util.regex.Pattern
import java.util.stream.Stream

import scala.jdk.CollectionConverters._
import scala.util.matching.Regex

import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.epochal.core.option.OptionGroup
import io.epochal.spark.seam.DriverConf

/** Keeps secret options out of Spark's plans, events and pages.
  *
  * Plans print the options of every source and sink. Spark masks those whose name matches `spark.sql.redaction.options.regex`: by
  * default url, password and a few more, but no HTTP header. So that pattern is widened by the names it lacks ([[hide]]); what it
  * masked before, it still masks.
  *
  * That is too late for a statement of SQL: its text is in events before any source is asked for. [[EpochalExtensions]]
  * widens the patterns of every session before its first statement ([[install]]); where it is missing, a warning says so.
  */
private[spark] object PlanRedaction {

  private val Options = "spark.sql.redaction.options.regex"
  private val DefaultOptions = "(?i)url|secret|password|token|access[.]?key"
  private val Texts = "spark.sql.redaction.string.regex"
  private val DefaultTexts = "spark.redaction.string.regex"

  private val log = LoggerFactory.getLogger("io.epochal.spark.PlanRedaction")
  private val warned = new AtomicBoolean

  /** To be called before a plan with such options exists: when a table is made.
    *
    * @param options
    *   of the table
    */
  def hide(group: OptionGroup, options: java.util.Map[String, String]): Unit = {
    val secrets = names(Seq(group))
    widen(secrets)(name => s"${name}x", keys)
    if (!isInstalled && secrets.exists(isGiven(options, _)) && cameBySql(options) && !warned.getAndSet(true))
      log.warn(
        "Options with secrets came by SQL, and Spark keeps the text of statements in its event log and on its pages. " +
          "Start Spark with spark.sql.extensions={}, which masks them.",
        classOf[EpochalExtensions].getName)
  }

  /** To be called before the plan of a statement is printed: an option that no format of ours has may be a misspelt secret.
    *
    * @param format
    *   to which the statement gives the options
    */
  def hideUnknown(format: String, options: Set[String]): Unit =
    if (isOurs(format)) {
      val unknown = options.filterNot(name => Epochal.formats.exists(_.knows(name)))
      widen(unknown.toSeq.sorted)(identity, names => s"(?:${keys(names)}$$)")
    }

  def isOurs(format: String): Boolean = format.toLowerCase(Locale.ROOT).startsWith("epochal-")

  /** Adds to what the session masks the names that it lacks.
    *
    * @param example
    *   an option of the name
    * @param pattern
    *   of options of these names
    */
  private def widen(names: Seq[String])(example: String => String, pattern: Seq[String] => String): Unit = {
    val conf = SparkSession.active.conf
    val before = conf.getOption(Options).getOrElse(DefaultOptions)
    val masked = before.r
    val lacking = names.filter(name => masked.findFirstIn(example(name)).isEmpty)
    if (lacking.nonEmpty) conf.set(Options, s"(?:$before)|${pattern(lacking)}")
  }

  /** Widens the patterns that every later session begins with. */
  def install(): Unit = if (!isInstalled) {
    val all = names(Epochal.formats)
    DriverConf.set(Options, s"(?:${DriverConf.get(Options).getOrElse(DefaultOptions)})|${keys(all)}")
    val before = DriverConf.get(Texts).orElse(DriverConf.get(DefaultTexts)).filter(_.nonEmpty)
    DriverConf.set(Texts, (before.map(pattern => s"(?:$pattern)").toSeq :+ statements).mkString("|"))
  }

  private def isInstalled: Boolean = DriverConf.get(Texts).exists(_.endsWith(statements))

  /** A statement, or a plan of Spark Connect, without its options: where they have secrets, or are those of our formats,
    * everything from there on is masked. A literal could end in many ways, and a text may have been cut.
    */
  lazy val statement: Regex = statements.r

  private lazy val statements: String = {
    val start = """(?:\b(?:options|with|\w*properties)\s*\(|\boptions\s*\{)"""
    val named = names(Epochal.formats).map { name =>
      if (name.endsWith(".")) Pattern.quote(name) else s"${Pattern.quote(name)}\\b"
    }
    val url = """url\W{1,12}(?:value\W{1,6})?[^\s'"]*[?@;]"""
    // As a parsed plan has them: TableSpec(…,Some(epochal-rest),HashMap(…)) and provider:epochal-rest HashMap(…).
    val parsed = "(?:\\bSome\\(|provider:)epochal-(?:rest|jdbc)\\b.*"
    s"(?is:$start(?=.*?(?<!\\w)(?:${named.mkString("|")}|$url)).*|epochal-(?:rest|jdbc)\\b.{0,10000}?\\boptions\\s*[({].*|$parsed)"
  }

  private def names(groups: Seq[OptionGroup]): Seq[String] =
    groups.flatMap(_.specs).filter(_.secret).map(_.prefix).distinct

  /** A table's properties have its options under names of their own. */
  private def keys(names: Seq[String]): String =
    s"(?i:^(?:option\\.)?(?:${names.map(Pattern.quote).mkString("|")}))"

  private def isGiven(options: java.util.Map[String, String], name: String): Boolean =
    options.keySet.asScala.exists(key => key.regionMatches(true, 0, name, 0, name.length))

  private def cameBySql(options: java.util.Map[String, String]): Boolean =
    options.containsKey("provider") && options.containsKey("owner") ||
      StackWalker.getInstance.walk[Boolean]((frames: Stream[StackWalker.StackFrame]) =>
        frames.anyMatch(frame => ByStatement.exists(name => frame.getClassName.startsWith(name))))

  /** What runs a statement that names a source. */
  private val ByStatement = Seq(
    "org.apache.spark.sql.execution.datasources.CreateTempViewUsing",
    "org.apache.spark.sql.execution.command.CreateDataSourceTable")
}
