package io.epochal.rest.source.task

import java.time.Instant

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.kit.record.{RecordOrigin, ScannedPages}
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.page.{Chain, PageChain}
import io.epochal.rest.source.paging.{ChainedPagination, NextPage, RestOptions, TimeWindow}
import io.epochal.rest.source.window.{WindowChain, WindowKeys}

/** All records of a [[ChainedPagination]], for a batch read: one task follows the pages from the first to the last.
  *
  * @param until
  *   when windows of time end; of no meaning for other pages
  */
final private[rest] case class ChainPartition(until: Instant) extends InputPartition

final private[rest] class ChainPages(
    options: RestOptions,
    pagination: ChainedPagination,
    client: HttpClient,
    until: Instant
) extends ScannedPages {

  private val chain: Chain = pagination match {
    case windows: TimeWindow =>
      val all = windows.endingAt(until)
      new WindowChain(options, all, client, None, 0, new WindowKeys(Nil, options.mismatch(_, _)), () => until)
    case _ => new PageChain(options, pagination, client, NextPage.First, (_, _) => ())
  }
  private var more = chain.beginPoll()
  private var before = 0L

  override def origin: Option[RecordOrigin] = chain.page.origin

  @scala.annotation.tailrec
  override protected def nextPage(): Boolean =
    if (!more) false
    else {
      val records = chain.nextPage(_ => ())
      more = !chain.atEnd
      if (records == 0) nextPage()
      else {
        open(options.rules.format.open(chain.page.body, options.place), before, 0, records)
        before += records
        true
      }
    }

  override def close(): Unit = {
    client.close()
    chain.page.close()
  }
}
