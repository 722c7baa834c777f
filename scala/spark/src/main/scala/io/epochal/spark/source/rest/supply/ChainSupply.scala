package io.epochal.spark.source.rest.supply

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.spark.http.{HttpClient, HttpCounters}
import io.epochal.spark.source.rest.page.{ChainedPagination, PageChain}
import io.epochal.spark.source.rest.{NextPage, RestOptions}

/** Follows the pages of a [[ChainedPagination]] on the driver, one after the other, into the journal. */
final private[rest] class ChainSupply(
    options: RestOptions,
    pagination: ChainedPagination,
    journal: RestJournal,
    counters: HttpCounters
) extends JournalledSupply(journal) {

  private val client = new HttpClient(options.http, counters)
  private var chain = Option.empty[PageChain]
  private var seen = Option.empty[Extent]
  private var warned = false

  override def known: Option[Extent] = seen

  override protected def reset(): Unit = chain = None

  override def close(): Unit = {
    super.close()
    client.close()
  }

  override protected def receive(tail: JournalTail, most: Long): Unit = {
    val pages = chain.getOrElse(chainAfter(tail))
    chain = Some(pages)
    var turned = 0
    var empty = 0
    var more = true
    while (more) {
      if (turned >= options.maxPages) throw Conditions.TooManyPages("url" -> options.endpoint, "pages" -> turned)
      val page = pages.turn()
      tail.add(page.records, pages.buffer.bytes, page.from, page.until - page.from, Some(pages.next))
      turned += 1
      empty = if (page.records == 0) empty + 1 else 0
      more = !pages.atEnd && tail.until - tail.start.records < most && empty < ChainSupply.EmptyPages
    }
    seen = Some(Extent(tail.until, if (pages.atEnd) tail.until else Long.MaxValue))
  }

  private def chainAfter(tail: JournalTail): PageChain =
    new PageChain(
      options,
      pagination,
      client,
      tail.next.getOrElse(NextPage.First),
      (has, had) => lost(tail.until - had + has, tail.until))

  private def lost(from: Long, until: Long): Unit = {
    val told = options.lost(from, until, "the API's last page has fewer records than it had")
    if (!warned) ChainSupply.log.warn(s"Going on when it has more than that again. $told")
    warned = true
  }
}

private object ChainSupply {
  private val log = LoggerFactory.getLogger(classOf[ChainSupply])

  /** Empty pages in a row after which a look ends, at a page that the next look goes on from: some APIs answer a poll with nothing
    * and a new token, for ever.
    */
  private val EmptyPages = 100
}
