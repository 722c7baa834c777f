package io.epochal.kit.sink

import java.time.Duration

import io.epochal.core.ledger._
import io.epochal.kit.sink.flush.FlushSettings

/** Settings that all transactional sinks share.
  *
  * @param sinkId
  *   None: the query's id
  * @param inlineMaxBytes
  *   of an epoch, that may travel in the tasks' messages
  * @param spillDirectory
  *   for files of rows; None: the checkpoint
  * @param badRowLimit
  *   of an epoch; None: the first bad row fails it
  * @param flush
  *   when a continuous or real-time query stores rows
  */
final case class SinkSettings(
    sinkId: Option[String],
    onNewQuery: OnNewQuery,
    onLedgerEmpty: OnLedgerEmpty,
    onEpochMismatch: OnEpochMismatch,
    inlineMaxBytes: Long,
    spillDirectory: Option[String],
    badRowLimit: Option[Int],
    flush: FlushSettings = FlushSettings(Duration.ofMillis(10), 10000))
