package io.epochal.kit.sink.transport

import io.epochal.kit.sink.row.RowFormat

/** Transports rows from the tasks into the committing transaction. Rows of a task stay invisible until then. */
trait Transport extends Serializable {

  /** In a task: opens the output of one attempt. */
  def open(format: RowFormat, attempt: TaskAttempt): TaskOutput

  /** In the driver: the rows of the attempts named in the messages, checked as far as possible without the system. */
  def receive(messages: Seq[TaskMessage], epoch: String): Shipment = Shipment.of(messages, epoch)
}
