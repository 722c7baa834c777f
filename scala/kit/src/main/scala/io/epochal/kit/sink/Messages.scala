package io.epochal.kit.sink

import scala.reflect.ClassTag

import org.apache.spark.sql.connector.write.WriterCommitMessage

private[epochal] object Messages {

  /** The messages of a sink's tasks. */
  def of[M <: WriterCommitMessage: ClassTag](messages: Array[WriterCommitMessage]): Seq[M] = messages.toSeq.map {
    case message: M => message
    case other      => throw new IllegalStateException(s"not a message of this sink: $other")
  }
}
