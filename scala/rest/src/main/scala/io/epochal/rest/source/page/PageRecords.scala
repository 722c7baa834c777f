package io.epochal.rest.source.page

import java.util.zip.CRC32C

import io.epochal.kit.record.Body
import io.epochal.rest.source.paging.RestOptions

/** Tells the records of a page from those of others. */
final private[rest] class PageRecords private (private val records: Vector[Long]) {

  /** Whether the page that was to follow this one is this one again, as it is now: longer, shorter or the same. A server whose pages
    * begin at multiples of their size responds so for a record within one.
    */
  def isRepeatedBy(next: PageRecords): Boolean = {
    val both = math.min(records.size, next.records.size)
    both > 0 && records.take(both) == next.records.take(both)
  }
}

private[rest] object PageRecords {

  /** @throws com.fasterxml.jackson.core.JsonProcessingException
    *   where the response is not of its format
    */
  def of(options: RestOptions, body: Body): PageRecords = {
    val records = options.rules.format.open(body, options.place)
    val found = Vector.newBuilder[Long]
    while (records.next()) {
      records.pass()
      val bytes = records.bytes
      val crc = new CRC32C
      crc.update(bytes, 0, bytes.length)
      found += crc.getValue << 32 | bytes.length
    }
    new PageRecords(found.result())
  }
}
