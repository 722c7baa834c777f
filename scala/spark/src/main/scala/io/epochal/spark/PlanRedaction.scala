package io.epochal.spark

import java.util.regex.Pattern

import scala.util.Try

import org.apache.spark.sql.SparkSession

import io.epochal.core.option.OptionGroup

/** Keeps secret options out of the plans that Spark prints.
  *
  * Spark shows the options of a relation in its plans, except those whose names match a setting of the session. What that
  * does not cover of our secret options is added to it; what the user set stays.
  */
object PlanRedaction {
  private val Setting = "spark.sql.redaction.options.regex"
  private val Covered = Seq("secret", "password", "token") // by spark.redaction.regex

  def cover(group: OptionGroup): Unit = {
    val conf = SparkSession.active.conf
    val pattern = conf.get(Setting)
    val open = group.specs.filter(_.secret).map(_.prefix).filterNot { name =>
      Covered.exists(name.toLowerCase.contains) || Try(Pattern.compile(pattern).matcher(name).find()).getOrElse(false)
    }
    if (open.nonEmpty) conf.set(Setting, (pattern +: open.map(name => s"(?i)\\b${Pattern.quote(name)}")).mkString("|"))
  }
}
