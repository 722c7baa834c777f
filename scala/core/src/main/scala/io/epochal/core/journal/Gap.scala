package io.epochal.core.journal

/** Rows that are missing from the journal. */
final case class Gap(from: Long, until: Long, reason: String)
