package io.epochal.rest.source.paging

import io.epochal.core.error.Plural
import io.epochal.rest.http.request.Endpoint

/** One request: the response holds the records from `first` on, `size` of them unless the API ends before.
  *
  * @param query
  *   what is added to the URL's query, already encoded; empty for none
  */
final case class PageRequest(query: String, first: Long, size: Long) {

  /** What was asked, in a message, after "asked". */
  def asked: String = s"${if (query.isEmpty) "" else s"with $query "}for $wanted"

  /** The records that are asked for, in a message. */
  def wanted: String =
    if (size == Long.MaxValue) "all records"
    else s"${Plural.of(size, "record")} from record $first on, counted from 0"

  /** The record after the last that the response can hold. */
  def end: Long = if (first > Long.MaxValue - size) Long.MaxValue else first + size
}

/** Records `from` to `until`, exclusive. */
final case class RecordRange(from: Long, until: Long) {
  def records: Long = until - from
}

/** Which request gives which records. Records are counted from 0 in the order in which the API lists them: any of these
  * can be asked for again, and a replay is only as true as that order.
  *
  * Kinds whose pages are only known from the page before are [[ChainedPagination]]s.
  */
sealed trait Pagination extends Paging {

  /** Records that one request can give. */
  def pageSize: Long

  /** The request that gives a record: the whole page that has it. Pages begin at multiples of `pageSize`, so that the same
    * record is always asked for by the same request.
    */
  def request(record: Long): PageRequest

  /** The request that goes on at a record behind a page that had fewer records than it was asked for. */
  def goOn(record: Long): PageRequest = request(record)

  /** The request that tells most about whether there is anything from `start` on; it also shows whether record
    * `start - 1` is still there, where that takes no second request: the page before a full one tells nothing about what
    * comes next.
    */
  final def probe(start: Long): PageRequest = request(if (start % pageSize == 0) start else start - 1)

  /** At most `partitions` ranges that cover `start` to `end`, split where a page ends. */
  def split(start: Long, end: Long, partitions: Int): Seq[RecordRange] = {
    val origin = start / pageSize * pageSize
    val pages = (end - origin) / pageSize + (if ((end - origin) % pageSize == 0) 0 else 1)
    val parts = math.min(partitions.toLong, pages).toInt
    def bound(i: Int): Long = {
      val at = BigInt(pages) * i / parts * pageSize + origin
      at.max(BigInt(start)).min(BigInt(end)).toLong
    }
    (0 until parts).map(i => RecordRange(bound(i), bound(i + 1))).filter(_.records > 0)
  }
}

object Pagination {

  /** `none`: one request gives all records. */
  case object Whole extends Pagination {
    override def kind: String = "none"
    override def pageSize: Long = Long.MaxValue
    override def request(record: Long): PageRequest = PageRequest("", 0, pageSize)
  }

  /** `offset`: the number of records to skip, and how many to give: always a whole page. */
  final case class ByOffset(offsetParam: String, limitParam: String, pageSize: Long) extends Pagination {
    private val offset = s"${Endpoint.encode(offsetParam)}="
    private val limit = s"&${Endpoint.encode(limitParam)}=$pageSize"

    override def kind: String = "offset"

    override def request(record: Long): PageRequest = goOn(record / pageSize * pageSize)

    override def goOn(record: Long): PageRequest = PageRequest(offset + record + limit, record, pageSize)
  }

  /** `page`: pages of one size, numbered from `firstPage`. */
  final case class ByPage(pageParam: String, sizeParam: String, firstPage: Long, pageSize: Long) extends Pagination {
    private val number = s"${Endpoint.encode(pageParam)}="
    private val size = s"&${Endpoint.encode(sizeParam)}=$pageSize"

    override def kind: String = "page"

    override def request(record: Long): PageRequest = {
      val page = record / pageSize
      PageRequest(number + (firstPage + page) + size, page * pageSize, pageSize)
    }
  }
}
