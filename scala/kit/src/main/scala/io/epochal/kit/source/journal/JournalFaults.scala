package io.epochal.kit.source.journal

import java.io.IOException

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.JournalDamage
import io.epochal.core.journal.acknowledged.JournalFenced

/** Our errors for those of an [[AcknowledgedJournal]]: JOURNAL_FENCED, JOURNAL_UNWRITABLE, SOURCE_CHANGED for that of
  * another source, and OFFSET_INVALID for a damaged one.
  *
  * @param source
  *   the identity that offsets carry
  * @param place
  *   the journal's directory
  */
final class JournalFaults(format: String, val source: String, place: String) {

  val named: PartialFunction[Throwable, EpochalException] = {
    case damage: JournalDamage if damage.owner.nonEmpty =>
      val owner = damage.owner.mkString
      Conditions.SourceChanged.because(damage)("found" -> owner, "expected" -> source, "sourceId" -> owner)
    case damage: JournalDamage =>
      Conditions.OffsetInvalid.because(damage)("format" -> format, "offset" -> place, "reason" -> damage.getMessage)
    case error: JournalFenced => Conditions.JournalFenced.because(error)("source" -> source, "path" -> place)
    case error: IOException   => unwritable(error)
  }

  def unwritable(error: Throwable): EpochalException = {
    val reason = Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
    Conditions.JournalUnwritable.because(error)("source" -> source, "path" -> place, "reason" -> reason)
  }

  /** @throws EpochalException
    *   for an error of the journal in `body`
    */
  def naming[A](body: => A): A =
    try body
    catch named.andThen(throw _)
}
