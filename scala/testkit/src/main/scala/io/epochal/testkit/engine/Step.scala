package io.epochal.testkit.engine

/** The steps of an epoch at which a process can be killed. */
sealed abstract class Step(val name: String, val claim: String)

object Step {
  case object BeforeOffsets extends Step("before-offsets", "before the epoch's offsets are logged")
  case object AfterOffsets extends Step("after-offsets", "after the epoch's offsets were logged")
  case object InTasks extends Step("in-tasks", "while its tasks run")
  case object BeforeSinkCommit extends Step("before-sink-commit", "after its tasks, before the sink's commit")
  case object InSinkCommit extends Step("in-sink-commit", "during the sink's commit")
  case object BeforeCommitLog extends Step("before-commit-log", "after the sink's commit, before Spark's")
  case object AfterCommitLog extends Step("after-commit-log", "after Spark logged the commit")

  val all: Seq[Step] =
    Seq(BeforeOffsets, AfterOffsets, InTasks, BeforeSinkCommit, InSinkCommit, BeforeCommitLog, AfterCommitLog)

  def named(name: String): Step =
    all.find(_.name == name).getOrElse(throw new IllegalArgumentException(s"no such step: $name"))
}
