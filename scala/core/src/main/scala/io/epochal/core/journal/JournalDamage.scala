package io.epochal.core.journal

/** A segment's file does not match the offset: it is missing, truncated, damaged, or belongs to another source.
  *
  * @param owner
  *   the other source to whose journal the file belongs
  */
final class JournalDamage(val segment: String, val reason: String, val owner: Option[String] = None)
    extends Exception(s"The journal's segment $segment cannot be read: $reason")
