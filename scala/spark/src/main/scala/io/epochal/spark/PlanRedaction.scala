package io.epochal.spark

import java.util.regex.Pattern

import org.apache.spark.sql.SparkSession

import io.epochal.core.option.OptionGroup

/** Keeps secret options out of Spark's plans, which print the options of every source and sink.
  *
  * Spark masks those whose name matches `spark.sql.redaction.options.regex`: by default url, password and a few more, but no
  * HTTP header. So the session's pattern is widened by the names it lacks; what it masked before, it still masks.
  */
private[spark] object PlanRedaction {

  private val Key = "spark.sql.redaction.options.regex"

  /** To be called before a plan with such options exists: when a table is made. */
  def hide(group: OptionGroup): Unit = {
    val conf = SparkSession.active.conf
    val pattern = conf.getOption(Key).getOrElse("(?i)url|secret|password|token|access[.]?key")
    val lacking = group.specs.filter(_.secret).map(_.prefix).filter(name => pattern.r.findFirstIn(s"${name}x").isEmpty)
    if (lacking.nonEmpty) conf.set(Key, s"(?:$pattern)|(?i:^(?:${lacking.map(Pattern.quote).mkString("|")}))")
  }
}
