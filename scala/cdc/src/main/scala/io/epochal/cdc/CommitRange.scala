package io.epochal.cdc

/** Changes from one place in the order of commits to another, exclusive. */
final private[cdc] case class CommitRange(from: CommitVersion, until: CommitVersion) {
  def contains(lsn: Long, ordinal: Long): Boolean = !from.isAfter(lsn, ordinal) && until.isAfter(lsn, ordinal)
}

private[cdc] object CommitRange {
  val All: CommitRange = CommitRange(CommitVersion.First, CommitVersion.Last)
}
