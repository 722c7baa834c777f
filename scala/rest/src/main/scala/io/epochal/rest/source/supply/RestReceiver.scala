package io.epochal.rest.source.supply

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.record.RecordBlock
import io.epochal.kit.source.PollBudget
import io.epochal.kit.source.journal.{Feeding, JournalledSupply, ReadAhead}
import io.epochal.rest.source.paging.{ResponseOrigin, RestOptions, RestPosition}

/** Receives the pages of an API into the journal. */
abstract private[rest] class RestReceiver(
    options: RestOptions,
    journal: RestJournal.Files,
    ahead: ReadAhead,
    feeding: Option[Feeding[RestPosition]]
) extends JournalledSupply[RestPosition, RestCursor](journal, ahead, feeding) {

  final protected def add(tail: RestJournal.Tail, budget: PollBudget)(
      block: RecordBlock,
      origin: Option[ResponseOrigin]): Unit = {
    val frame = RestJournal.frame(options, block, origin)
    tail.add(frame.records, frame.bytes, frame.from, frame.length)
    budget.spend(block.length.toLong)
  }

  /** Failures of the server. */
  final override protected def isTransient(error: EpochalException): Boolean =
    RestReceiver.Transient(error.condition)
}

private object RestReceiver {
  private val Transient = Set(
    Conditions.HttpUnreachable,
    Conditions.HttpTimeout,
    Conditions.HttpTooSlow,
    Conditions.HttpStatus,
    Conditions.HttpBodyInvalid,
    Conditions.OAuthRefused)
}
