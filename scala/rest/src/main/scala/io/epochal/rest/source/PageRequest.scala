package io.epochal.rest.source

import io.epochal.core.error.Plural

/** One request: the response holds `size` records from `first` on, or fewer at the end of the list.
  *
  * @param query
  *   added to the URL's query, already encoded; may be empty
  */
final case class PageRequest(query: String, first: Long, size: Long) {

  /** Describes the request in a message, after "asked". */
  def requestText: String = s"${if (query.isEmpty) "" else s"with $query "}for $recordsText"

  /** Describes the requested records in a message. */
  def recordsText: String =
    if (size == Long.MaxValue) "all records"
    else s"${Plural.of(size, "record")} from record $first on, counted from 0"

  /** One past the last record that the response can hold. */
  def end: Long = if (first > Long.MaxValue - size) Long.MaxValue else first + size
}
