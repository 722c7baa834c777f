package io.epochal.rest.source

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.ResponseHead

/** Where responses state the length of their list: at a JSON Pointer, in a header, or nowhere. */
final private[rest] case class ListTotal(pointer: Option[String] = None, header: Option[String] = None) {

  def isStated: Boolean = pointer.nonEmpty || header.nonEmpty

  /** The place in a message, and the text there. */
  def of(head: ResponseHead, scanned: ScannedPage): Option[(String, Option[String])] =
    pointer
      .map(at => s"'$at'" -> scanned.values.get(at).flatten)
      .orElse(header.map(name => s"the header $name" -> head.header(name)))
}

private[rest] object ListTotal {

  def of(options: RestOptions): ListTotal =
    ListTotal(options.values.get(CountingOptions.TotalCount), options.values.get(CountingOptions.TotalCountHeader))
}
