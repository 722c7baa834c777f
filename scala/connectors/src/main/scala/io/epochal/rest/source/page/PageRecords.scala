package io.epochal.rest.source.page

import java.util.zip.CRC32C

import io.epochal.rest.http.request.BodyBuffer
import io.epochal.rest.source.paging.RestOptions

/** Tells the records of a page from those of others. */
final private[rest] class PageRecords private (records: Vector[Long]) {

  /** Whether the page that was to follow this one is this one again, as it is now: longer, shorter or the same. A server whose pages
    * begin at multiples of their size answers so for a record within one.
    */
  def isRepeatedBy(next: PageRecords): Boolean = {
    val both = math.min(records.size, next.size)
    both > 0 && records.take(both) == next.first(both)
  }

  private def size: Int = records.size

  private def first(n: Int): Vector[Long] = records.take(n)
}

private[rest] object PageRecords {

  /** @throws com.fasterxml.jackson.core.JsonProcessingException
    *   where the answer is not of its format
    */
  def of(options: RestOptions, body: BodyBuffer): PageRecords = {
    val records = options.rules.format.open(body, options.endpoint)
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
