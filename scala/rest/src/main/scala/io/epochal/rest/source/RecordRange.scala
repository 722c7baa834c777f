package io.epochal.rest.source

/** Records `from` to `until`, exclusive. */
final case class RecordRange(from: Long, until: Long) {
  def records: Long = until - from
}
