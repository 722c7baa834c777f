package io.epochal.rest.source

import java.util.Locale

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.ResponseHead

/** Signs that a response is only a part of a list that was requested as a whole. */
private[rest] object WholeList {

  /** @return
    *   the sign, and the pagination that it suggests
    */
  def contradiction(response: ResponseHead, scanResult: ScannedPage): Option[NoPage.Incomplete] =
    link(response).orElse(next(scanResult)).orElse(more(scanResult)).orElse(total(response, scanResult))

  private def link(response: ResponseHead): Option[NoPage.Incomplete] =
    LinkHeader
      .find(response.headers("Link"), "next")
      .map(_ => NoPage.Incomplete("its header Link names a next page", "link"))

  private def next(scanResult: ScannedPage): Option[NoPage.Incomplete] = scanResult.outline.collectFirst {
    case (pointer, Some(text)) if Next(plain(pointer)) && text.nonEmpty && text != "false" =>
      val kind =
        if (text.contains("/") || text.startsWith("?")) "next-url" else if (text.forall(_.isDigit)) "page" else "cursor"
      NoPage.Incomplete(s"it names a next page at '$pointer'", kind)
  }

  private def more(scanResult: ScannedPage): Option[NoPage.Incomplete] = scanResult.outline.collectFirst {
    case (pointer, Some(text))
        if More(plain(pointer)) && MoreFlag(pointer, trueInLast = false).more(text).contains(true) =>
      NoPage.Incomplete(s"its flag at '$pointer' says that more pages follow", "cursor")
  }

  private def total(response: ResponseHead, scanResult: ScannedPage): Option[NoPage.Incomplete] =
    numbers(response, scanResult, "X-Total-Count", Total).collectFirst {
      case (place, total) if total > scanResult.records =>
        NoPage.Incomplete(s"according to $place the list has $total", "page")
    }

  /** A number in the response to the request for a page without records, according to which the list has records there.
    *
    * @return
    *   worded to follow "0 records, and says"
    */
  def more(response: ResponseHead, scanResult: ScannedPage, page: PageRequest): Option[String] = {
    val total = numbers(response, scanResult, "X-Total-Count", Total).collectFirst {
      case (place, all) if all > page.first => s"at $place that there are $all in all"
    }
    // An empty list may have one page.
    total.orElse(numbers(response, scanResult, "X-Total-Pages", PageCount).collectFirst {
      case (place, pages)
          if pages > 1 && (pages - 1) >= page.first / page.size && (pages - 1) * page.size >= page.first =>
        s"at $place that there are $pages pages"
    })
  }

  /** Numbers in a header or in fields of these names, with their places. */
  private def numbers(
      response: ResponseHead,
      scanResult: ScannedPage,
      header: String,
      names: Set[String]): Seq[(String, Long)] = {
    val inHeader = response.header(header).map(s"the header $header" -> _)
    val inBody = scanResult.outline.collect {
      case (pointer, Some(text)) if names(plain(pointer)) => s"'$pointer'" -> text
    }
    (inHeader ++ inBody).flatMap { case (place, text) => text.trim.toLongOption.map(place -> _) }.toSeq
  }

  /** Numbers in a response that may be the length of the list. One that equals its number of records counts only where the
    * response is marked as the last page.
    */
  def totals(response: ResponseHead, scanResult: ScannedPage): Seq[Long] = {
    val isLast = scanResult.outline.exists { case (pointer, text) => text.isEmpty && Next(plain(pointer)) }
    numbers(response, scanResult, "X-Total-Count", Total + "count")
      .map(_._2)
      .filter(total => total > scanResult.records || isLast && total == scanResult.records && total > 0)
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
  private val PageCount = Set("pagecount", "totalpages", "numpages", "pagestotal", "lastpage")
  private val Total = Set("total", "totalcount", "totalrecords", "totalitems", "totalresults", "odatacount")
}
