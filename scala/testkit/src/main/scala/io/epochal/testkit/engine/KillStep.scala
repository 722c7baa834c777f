package io.epochal.testkit.engine

/** A step of an epoch at which a process can be killed. */
sealed abstract class KillStep(val claim: String) extends Serializable

object KillStep {
  case object BeforeOffsets extends KillStep("before the epoch's offsets are logged")
  case object AfterOffsets extends KillStep("after the epoch's offsets were logged")
  case object InTasks extends KillStep("while its tasks run")
  case object BeforeSinkCommit extends KillStep("after its tasks, before the sink's commit")
  case object InSinkCommit extends KillStep("during the sink's commit")
  case object BeforeCommitLog extends KillStep("after the sink's commit, before Spark's")
  case object AfterCommitLog extends KillStep("after Spark logged the commit")
}
