package io.epochal.spark.source.rest.page

import io.epochal.spark.http.Endpoint

/** One request: the answer holds the records from `first` on, `size` of them unless the API ends before.
  *
  * @param query
  *   what is added to the URL's query, already encoded; empty for none
  */
final case class PageRequest(query: String, first: Long, size: Long) {

  /** What was asked, in a message. */
  def asked: String = {
    val how = if (query.isEmpty) "" else s" with $query"
    s"asked$how for $size records from record $first on, counted from 0"
  }

  /** The record after the last that the answer can hold. */
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

  /** The request that gives record `from`, and of those after it and before `until` as many as fit in a page. */
  def request(from: Long, until: Long): PageRequest

  /** The request that tells most about whether there is anything from `start` on; it also shows whether record
    * `start - 1` is still there, where that takes no second request.
    */
  def probe(start: Long, until: Long): PageRequest = request(math.max(0L, start - 1), until)

  /** At most `partitions` ranges that cover `start` to `end`, split where a page ends. */
  def split(start: Long, end: Long, partitions: Int): Seq[RecordRange] = {
    val origin = firstPageStart(start)
    val pages = (end - origin) / pageSize + (if ((end - origin) % pageSize == 0) 0 else 1)
    val parts = math.min(partitions.toLong, pages).toInt
    def bound(i: Int): Long = {
      val at = BigInt(pages) * i / parts * pageSize + origin
      at.max(BigInt(start)).min(BigInt(end)).toLong
    }
    (0 until parts).map(i => RecordRange(bound(i), bound(i + 1))).filter(_.records > 0)
  }

  protected def firstPageStart(start: Long): Long
}

object Pagination {

  /** `none`: one request gives all records. */
  case object Whole extends Pagination {
    override def kind: String = "none"
    override def pageSize: Long = Long.MaxValue
    override def request(from: Long, until: Long): PageRequest = PageRequest("", 0, pageSize)
    override protected def firstPageStart(start: Long): Long = 0L
  }

  /** `offset`: the number of records to skip, and how many to give. A page may start anywhere. */
  final case class ByOffset(offsetParam: String, limitParam: String, pageSize: Long) extends Pagination {
    private val offset = s"${Endpoint.encode(offsetParam)}="
    private val limit = s"&${Endpoint.encode(limitParam)}="

    override def kind: String = "offset"

    override def request(from: Long, until: Long): PageRequest = {
      val size = math.min(pageSize, until - from)
      PageRequest(offset + from + limit + size, from, size)
    }

    override protected def firstPageStart(start: Long): Long = start
  }

  /** `page`: pages of one size, numbered from `firstPage`. */
  final case class ByPage(pageParam: String, sizeParam: String, firstPage: Long, pageSize: Long) extends Pagination {
    private val number = s"${Endpoint.encode(pageParam)}="
    private val size = s"&${Endpoint.encode(sizeParam)}=$pageSize"

    override def kind: String = "page"

    override def request(from: Long, until: Long): PageRequest = {
      val page = from / pageSize
      PageRequest(number + (firstPage + page) + size, page * pageSize, pageSize)
    }

    // The page before a full one tells nothing about what comes next.
    override def probe(start: Long, until: Long): PageRequest =
      if (start % pageSize == 0) request(start, until) else super.probe(start, until)

    override protected def firstPageStart(start: Long): Long = start / pageSize * pageSize
  }
}
