package io.epochal.rest.source

import java.util.Locale

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.ResponseHead

/** The names of a response's fields and headers, for an error about a missing one. */
private[rest] object ResponseNames {

  /** The fields around the records. */
  def fields(scanResult: ScannedPage): String = listOf(scanResult.outline.map(_._1))

  def headers(response: ResponseHead): String =
    listOf(response.all.map(_._1).distinctBy(lower).filterNot(name => Usual(lower(name))))

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  private def listOf(names: Seq[String]): String =
    if (names.isEmpty) "none" else names.take(Shown).mkString(", ") + (if (names.size > Shown) ", …" else "")

  private val Shown = 24

  /** Headers that are unrelated to pagination. */
  private val Usual = Set("connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding")
}
