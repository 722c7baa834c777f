package io.epochal.testkit.report

import scala.jdk.CollectionConverters._

import org.apache.commons.lang3.exception.ExceptionUtils

/** Error that shows that a promise is broken. */
final class Evidence(message: String, cause: Throwable = null) extends AssertionError(message, cause)

object Evidence {
  private val Shown = 12
  private val Length = 300

  def broken(message: String, cause: Throwable = null): Nothing = throw new Evidence(message, cause)

  def unless(holds: Boolean)(message: => String): Unit = if (!holds) broken(message)

  def equal(what: String, actual: Any, expected: Any): Unit =
    unless(actual == expected)(s"$what: found ${shown(actual)}, expected ${shown(expected)}")

  /** Asserts that two lists are equal as multisets. */
  def sameRows(what: String, actual: Seq[Any], expected: Seq[Any]): Unit = {
    val missing = expected.map(_.toString).diff(actual.map(_.toString))
    val surplus = actual.map(_.toString).diff(expected.map(_.toString))
    unless(missing.isEmpty && surplus.isEmpty)(
      s"$what: ${actual.size} rows for ${expected.size}; missing ${shown(missing)}; surplus ${shown(surplus)}")
  }

  /** Asserts that there are `count` rows, all distinct. */
  def onceEach(what: String, actual: Seq[Any], count: Long): Unit = {
    val twice = actual.groupBy(identity).collect { case (row, all) if all.size > 1 => s"$row (${all.size} times)" }
    unless(twice.isEmpty && actual.size == count)(
      s"$what: ${actual.distinct.size} rows for $count" +
        (if (twice.isEmpty) "" else s"; more than once: ${shown(twice.toSeq.sorted)}"))
  }

  def shown(value: Any): String = value match {
    case rows: Seq[_] if rows.size > Shown => s"${rows.take(Shown).mkString("[", ", ", ", …")} ${rows.size} in all]"
    case rows: Seq[_]                      => rows.mkString("[", ", ", "]")
    case other                             => String.valueOf(other)
  }

  /** Messages of an error and its causes, without stack traces. */
  def text(error: Throwable): String =
    ExceptionUtils.getThrowableList(error).asScala.map(e => short(e.toString)).distinct.mkString("; caused by ")

  private def short(message: String): String = {
    val line = message.linesIterator.takeWhile(!_.startsWith("===")).map(_.trim).filter(_.nonEmpty).mkString(" ")
    if (line.length > Length) line.take(Length) + "…" else line
  }
}
