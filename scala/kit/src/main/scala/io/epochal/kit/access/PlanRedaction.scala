package io.epochal.kit.access

import java.util.concurrent.atomic.AtomicBoolean
import java.util.regex.Pattern
import java.util.stream.Stream

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.epochal.core.option.OptionGroup
import io.epochal.kit.spark.DriverConf

/** Keeps secret options out of Spark's plans, events and pages.
  *
  * Plans print the options of every source and sink. Spark masks those whose name matches `spark.sql.redaction.options.regex`:
  * by default url, password and a few more, but no HTTP header. [[hide]] adds the missing names to the pattern; what it masked
  * before, it still masks.
  *
  * That is too late for a SQL statement: its text is in events before any source is loaded. A session extension masks
  * statements; without it, a warning is logged.
  */
private[epochal] object PlanRedaction {

  /** The session extensions that mask statements. */
  val Extensions = "io.epochal.formats.EpochalExtensions"

  private val Options = "spark.sql.redaction.options.regex"
  private val DefaultOptions = "(?i)url|secret|password|token|access[.]?key"

  private val Installed = "spark.epochal.masksStatements"

  private val log = LoggerFactory.getLogger("io.epochal.kit.access.PlanRedaction")
  private val warned = new AtomicBoolean

  /** Call it before a plan with such options exists: when a table is created.
    *
    * @param options
    *   of the table
    */
  def hide(group: OptionGroup, options: java.util.Map[String, String]): Unit = {
    val names = secrets(Seq(group))
    widen(names)(name => s"${name}x", keys)
    if (!isInstalled && names.exists(isGiven(options, _)) && cameBySql(options) && !warned.getAndSet(true))
      log.warn(
        "Options with secrets came by SQL, and Spark keeps the text of statements in its event log and on its pages. " +
          "Start Spark with spark.sql.extensions={}, which masks them.",
        Extensions)
  }

  /** Hides single options of a session. */
  def hide(options: Set[String]): Unit =
    widen(options.toSeq.sorted)(identity, names => s"(?:${keys(names)}$$)")

  /** Adds missing names to the session's pattern.
    *
    * @param example
    *   an option of the name
    * @param pattern
    *   of options of these names
    */
  private def widen(names: Seq[String])(example: String => String, pattern: Seq[String] => String): Unit = {
    val conf = SparkSession.active.conf
    val before = conf.getOption(Options).getOrElse(DefaultOptions)
    val option = before.r
    val lacking = names.filter(name => option.findFirstIn(example(name)).isEmpty)
    if (lacking.nonEmpty) conf.set(Options, s"(?:$before)|${pattern(lacking)}")
  }

  /** Widens the initial pattern of every later session, and records that statements are masked. */
  def install(groups: Seq[OptionGroup]): Unit = {
    DriverConf.set(Options, s"(?:${DriverConf.get(Options).getOrElse(DefaultOptions)})|${keys(secrets(groups))}")
    DriverConf.set(Installed, "true")
  }

  def isInstalled: Boolean = DriverConf.get(Installed).contains("true")

  /** Names, or prefixes of names, of secret options. */
  def secrets(groups: Seq[OptionGroup]): Seq[String] =
    groups.flatMap(_.specs).filter(_.secret).map(_.prefix).distinct

  /** Pattern of option keys with these names; a table's properties carry them with the prefix `option.`. */
  private def keys(names: Seq[String]): String =
    s"(?i:^(?:option\\.)?(?:${names.map(Pattern.quote).mkString("|")}))"

  private def isGiven(options: java.util.Map[String, String], name: String): Boolean =
    options.keySet.asScala.exists(key => key.regionMatches(true, 0, name, 0, name.length))

  private def cameBySql(options: java.util.Map[String, String]): Boolean =
    options.containsKey("provider") && options.containsKey("owner") || isViewOrTableStatement

  /** Whether the calling thread runs a SQL statement that creates a view or table over a source. */
  private def isViewOrTableStatement: Boolean =
    StackWalker.getInstance.walk[Boolean]((frames: Stream[StackWalker.StackFrame]) =>
      frames.anyMatch(frame => Commands.exists(frame.getClassName.startsWith(_))))

  private val Commands = Seq(
    "org.apache.spark.sql.execution.datasources.CreateTempViewUsing",
    "org.apache.spark.sql.execution.command.CreateDataSourceTable")
}
