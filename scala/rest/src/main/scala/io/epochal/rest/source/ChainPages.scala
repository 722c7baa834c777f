package io.epochal.rest.source

import java.time.Instant

import io.epochal.kit.record.{RecordOrigin, ScannedPages}
import io.epochal.rest.http.HttpClient

final private[rest] class ChainPages(
    list: ListRequests,
    pagination: ChainedPagination,
    client: HttpClient,
    until: Instant
) extends ScannedPages {

  private val reader =
    new ListReader(new PageChain(list, pagination.endingAt(until), list.end.maxEmptyPages), client)
  reader.begin(until)
  private var before = 0L

  override def origin: Option[RecordOrigin] = reader.page.origin

  @scala.annotation.tailrec
  override protected def nextPage(): Boolean =
    if (!reader.hasNext) false
    else {
      val records = reader.next().records
      if (records == 0) nextPage()
      else {
        open(list.rules.format.open(reader.page.body, list.place), before, 0, records)
        before += records
        true
      }
    }

  override def close(): Unit = {
    client.close()
    reader.close()
  }
}
