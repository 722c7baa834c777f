package io.epochal.kit.spark

import java.util.stream.Stream

/** The statement of SQL that the calling thread runs. */
object RunningStatement {

  /** What runs a statement that names a source. */
  private val Commands = Seq(
    "org.apache.spark.sql.execution.datasources.CreateTempViewUsing",
    "org.apache.spark.sql.execution.command.CreateDataSourceTable")

  /** Whether it makes a view or a table over a source. */
  def namesSource: Boolean =
    StackWalker.getInstance.walk[Boolean]((frames: Stream[StackWalker.StackFrame]) =>
      frames.anyMatch(frame => Commands.exists(name => frame.getClassName.startsWith(name))))
}
