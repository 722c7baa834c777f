package io.epochal.rest.source.task

import java.time.Instant

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.page.{Answer, Chain, PageChain}
import io.epochal.rest.source.paging.{ChainedPagination, NextPage, RestOptions, TimeWindow}
import io.epochal.rest.source.record.{Records, RowColumns}
import io.epochal.rest.source.window.{WindowChain, WindowKeys}

/** All records of a [[ChainedPagination]], for a batch read: one task follows the pages from the first to the last.
  *
  * @param until
  *   when windows of time end; of no meaning for other pages
  */
final private[rest] case class ChainPartition(until: Instant) extends InputPartition

final private[rest] class ChainPages(
    options: RestOptions,
    columns: RowColumns,
    pagination: ChainedPagination,
    client: HttpClient,
    until: Instant
) extends ScannedPages(options, columns, options.rules.format) {

  private val chain: Chain = pagination match {
    case windows: TimeWindow =>
      val all = windows.endingAt(until)
      new WindowChain(options, all, client, None, 0, new WindowKeys(Nil, options.mismatch(_, _)), () => until)
    case _ => new PageChain(options, pagination, client, NextPage.First, (_, _) => ())
  }
  private var more = chain.look()
  private var index0 = 0L

  override def answer: Answer = chain.answer

  override protected def page(): Records[format.Rows] = format.open(answer.body, options.endpoint)

  @scala.annotation.tailrec
  override protected def turn(): Option[PagePart] =
    if (!more) None
    else {
      val records = chain.turn(_ => ())
      more = !chain.atEnd
      if (records == 0) turn()
      else {
        val part = PagePart(index0, 0, records)
        index0 += records
        Some(part)
      }
    }

  override def close(): Unit = {
    client.close()
    chain.answer.close()
  }
}
