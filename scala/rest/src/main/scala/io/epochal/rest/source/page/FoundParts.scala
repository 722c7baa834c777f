package io.epochal.rest.source.page

import java.util.Locale

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.request.ResponseHead

/** What a response has, by name only: for the message of an error that says what it does not have. */
private[rest] object FoundParts {

  /** The fields around the records. */
  def fields(scanned: ScannedPage): String = listed(scanned.outline.map(_._1))

  def headers(response: ResponseHead): String =
    listed(response.all.map(_._1).distinctBy(lower).filterNot(name => Usual(lower(name))))

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  private def listed(names: Seq[String]): String =
    if (names.isEmpty) "none" else names.take(Shown).mkString(", ") + (if (names.size > Shown) ", …" else "")

  private val Shown = 24

  /** Headers that tell nothing about pages. */
  private val Usual = Set("connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding")
}
