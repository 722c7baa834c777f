package io.epochal.kit.sink.transport

/** One attempt of one task.
  *
  * @param epoch
  *   its number, or `BatchCommit.Epoch`
  * @param taskId
  *   Spark's number of the attempt; restarts at 0 with every application
  */
final case class TaskAttempt(epoch: String, partition: Int, taskId: Long)
