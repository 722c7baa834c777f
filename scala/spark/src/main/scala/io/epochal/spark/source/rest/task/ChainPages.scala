package io.epochal.spark.source.rest.task

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.core.error.Conditions
import io.epochal.spark.http.{BodyBuffer, HttpClient}
import io.epochal.spark.source.rest.page.{ChainedPagination, PageChain}
import io.epochal.spark.source.rest.record.RowColumns
import io.epochal.spark.source.rest.{NextPage, RestOptions}

/** All records of a [[ChainedPagination]], for a batch read: one task follows the pages from the first to the last. */
private[rest] case object ChainPartition extends InputPartition

final private[rest] class ChainPages(
    options: RestOptions,
    columns: RowColumns,
    pagination: ChainedPagination,
    client: HttpClient
) extends ScannedPages(options, columns, options.records) {

  private val chain = new PageChain(options, pagination, client, NextPage.First, (_, _) => ())
  private var index0 = 0L
  private var turned = 0

  override protected def buffer: BodyBuffer = chain.buffer

  @scala.annotation.tailrec
  override protected def turn(): Option[PagePart] =
    if (chain.atEnd) None
    else {
      if (turned >= options.maxPages) throw Conditions.TooManyPages("url" -> options.endpoint, "pages" -> turned)
      val page = chain.turn()
      turned += 1
      if (page.records == 0) turn()
      else {
        val part = PagePart(index0, 0, page.records)
        index0 += page.records
        Some(part)
      }
    }

  override def close(): Unit = client.close()
}
