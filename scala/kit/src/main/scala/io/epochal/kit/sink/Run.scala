package io.epochal.kit.sink

/** A run that claims a sink.
  *
  * @param queryId
  *   stable over restarts
  * @param runId
  *   differs from start to start
  */
final case class Run(sinkId: String, queryId: String, runId: String)
