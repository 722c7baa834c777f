package io.epochal.core.journal.acknowledged

/** Another run has taken the journal over: this run, of the given generation, must acknowledge nothing any more. */
final class JournalFenced(val generation: Long)
    extends Exception(s"A run with a higher generation than $generation has taken over")
