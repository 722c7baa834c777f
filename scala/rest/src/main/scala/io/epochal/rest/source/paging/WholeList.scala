package io.epochal.rest.source.paging

import java.util.Locale

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.request.ResponseHead

/** What shows that a response is a part of a list, though it is asked for as the whole of it. */
private[rest] object WholeList {

  /** @return
    *   what it says against that, and the pagination that it looks like
    */
  def contradiction(response: ResponseHead, scanned: ScannedPage): Option[NoPage.Incomplete] =
    link(response).orElse(next(scanned)).orElse(more(scanned)).orElse(total(response, scanned))

  private def link(response: ResponseHead): Option[NoPage.Incomplete] =
    LinkHeader
      .find(response.headers("Link"), "next")
      .map(_ => NoPage.Incomplete("its header Link names a next page", "link"))

  private def next(scanned: ScannedPage): Option[NoPage.Incomplete] = scanned.outline.collectFirst {
    case (pointer, Some(text)) if Next(plain(pointer)) && text.nonEmpty && text != "false" =>
      val kind =
        if (text.contains("/") || text.startsWith("?")) "next-url" else if (text.forall(_.isDigit)) "page" else "cursor"
      NoPage.Incomplete(s"it names a next page at '$pointer'", kind)
  }

  private def more(scanned: ScannedPage): Option[NoPage.Incomplete] = scanned.outline.collectFirst {
    case (pointer, Some("true")) if More(plain(pointer)) =>
      NoPage.Incomplete(s"its flag at '$pointer' says that more pages follow", "cursor")
  }

  private def total(response: ResponseHead, scanned: ScannedPage): Option[NoPage.Incomplete] = {
    val inHeader = response.header("X-Total-Count").map("the header X-Total-Count" -> _)
    val inBody = scanned.outline.collect {
      case (pointer, Some(text)) if Total(plain(pointer)) => s"'$pointer'" -> text
    }
    (inHeader ++ inBody).flatMap { case (place, text) => text.trim.toLongOption.map(place -> _) }.collectFirst {
      case (place, total) if total > scanned.records =>
        NoPage.Incomplete(s"according to $place the list has $total", "page")
    }
  }

  /** The last name of a pointer; of `/_links/next/href` the last but one. Letters only, in lower case. */
  private def plain(pointer: String): String = {
    val names = pointer.split('/').toSeq.map(_.toLowerCase(Locale.ROOT).filter(_.isLetter)).filter(_.nonEmpty)
    names.reverseIterator.find(!Targets(_)).getOrElse("")
  }

  private val Targets = Set("href", "url", "uri")
  private val Next = Set(
    "next",
    "nexturl",
    "nextlink",
    "odatanextlink",
    "nextpage",
    "nextpageurl",
    "nextpagetoken",
    "nexttoken",
    "nextcursor")
  private val More = Set("hasmore", "hasnext", "hasnextpage")
  private val Total = Set("total", "totalcount", "totalrecords", "totalitems", "totalresults", "odatacount")
}
