package io.epochal.cdc

import java.lang.Long.{compareUnsigned, parseUnsignedLong}

import scala.util.Try

import io.epochal.cdc.pgoutput.Lsn

/** A place in the order of commits, before the change that has it as its `_commit_version`. */
final private[cdc] case class CommitVersion(lsn: Long, ordinal: Long) {

  def isAfter(otherLsn: Long, otherOrdinal: Long): Boolean = {
    val order = compareUnsigned(lsn, otherLsn)
    order > 0 || order == 0 && ordinal > otherOrdinal
  }
}

private[cdc] object CommitVersion {
  val First: CommitVersion = CommitVersion(0L, 0)
  val Last: CommitVersion = CommitVersion(-1L, Long.MaxValue)

  private val Text = "([0-9A-Fa-f]{16})/([0-9]{10})".r

  /** The place of a `_commit_version`, or of a position in the log, which stands for a whole transaction.
    *
    * @param isAfter
    *   whether after it, else before it
    */
  def read(text: String, isAfter: Boolean): Option[CommitVersion] = text.trim match {
    case Text(lsn, ordinal) =>
      Try(CommitVersion(parseUnsignedLong(lsn, 16), ordinal.toLong)).toOption.map { version =>
        if (isAfter) version.copy(ordinal = version.ordinal + 1) else version
      }
    case position => Lsn.read(position).map(lsn => CommitVersion(if (isAfter) lsn + 1 else lsn, 0))
  }
}
