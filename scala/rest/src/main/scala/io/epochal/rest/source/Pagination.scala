package io.epochal.rest.source

import scala.annotation.unused

import io.epochal.rest.http.Endpoint

/** Which request returns which records. Records are counted from 0 in the API's order: any of them can be requested
  * again, and a replay is only as exact as that order.
  *
  * Kinds whose pages are named by the previous page are [[ChainedPagination]]s.
  */
sealed trait Pagination extends Paging {
  override def isCounted: Boolean = true
  override def asChain: ChainedPagination = CountedPages(this)

  /** Maximum records of a response. */
  def pageSize: Long

  /** The request that returns a record: the whole page that contains it. Pages begin at multiples of `pageSize`, so that
    * the same record is always requested by the same URL.
    */
  def request(record: Long): PageRequest

  /** The value of a placeholder in the body of a request. */
  def value(@unused page: PageRequest, place: String): Long =
    throw new IllegalArgumentException(s"no value for $place under pagination=$kind")

  /** The request that continues at a record after a short page. */
  def continueAt(record: Long): PageRequest = request(record)

  /** The request that shows whether the list ends with a full page, where the server refuses the page after it: by another
    * page size, its page begins within the full one, with the last records of that, and so is short if the list ends there.
    *
    * @param end
    *   number of records up to the end of the full page
    * @return
    *   the pagination of the request, and the first record of its page; None: there is no such request
    */
  def endCheck(end: Long): Option[(Pagination, Long)]

  /** The request that best shows whether records exist from `start` on. If it takes no second request, it also shows
    * whether record `start - 1` still exists. A full page says nothing about the next one, so the record before is not
    * requested then.
    */
  final def probe(start: Long): PageRequest = request(if (start % pageSize == 0) start else start - 1)

  /** At most `partitions` ranges that cover `start` to `end`, split at page boundaries. */
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

  /** `none`: one request returns all records. */
  case object Whole extends Pagination {
    override def kind: String = "none"
    override def pageSize: Long = Long.MaxValue
    override def request(record: Long): PageRequest = PageRequest("", 0, pageSize)
    override def endCheck(end: Long): Option[(Pagination, Long)] = None
  }

  /** `offset`: the number of records to skip, and the page size, which is constant. */
  final case class ByOffset(offsetParam: String, limitParam: String, pageSize: Long) extends Pagination {
    private val offset = s"${Endpoint.encode(offsetParam)}="
    private val limit = s"&${Endpoint.encode(limitParam)}=$pageSize"

    override def kind: String = "offset"
    override def parameters: Seq[String] = Seq(offsetParam, limitParam)
    override def placeholders: Seq[String] = Seq("offset", "limit")
    override def value(page: PageRequest, place: String): Long = if (place == "offset") page.first else page.size

    override def request(record: Long): PageRequest = continueAt(record / pageSize * pageSize)

    override def continueAt(record: Long): PageRequest = PageRequest(offset + record + limit, record, pageSize)

    /** By the usual page size, where that begins within the last page. */
    override def endCheck(end: Long): Option[(Pagination, Long)] =
      Some(if (end % pageSize != 0) (this, end - 1) else check(pageSize, end)(size => copy(pageSize = size)))
  }

  /** `page`: pages of one size, numbered from `firstPage`. */
  final case class ByPage(pageParam: String, sizeParam: String, firstPage: Long, pageSize: Long) extends Pagination {
    private val number = s"${Endpoint.encode(pageParam)}="
    private val size = s"&${Endpoint.encode(sizeParam)}=$pageSize"

    override def kind: String = "page"
    override def parameters: Seq[String] = Seq(pageParam, sizeParam)
    override def placeholders: Seq[String] = Seq("page")
    override def identity: Option[String] = Some(s"firstPage=$firstPage")

    override def value(page: PageRequest, place: String): Long =
      if (place == "page") firstPage + page.first / page.size else page.size

    override def request(record: Long): PageRequest = {
      val page = record / pageSize
      PageRequest(number + (firstPage + page) + size, page * pageSize, pageSize)
    }

    override def endCheck(end: Long): Option[(Pagination, Long)] =
      Some(check(pageSize, end)(size => copy(pageSize = size)))
  }

  /** The check by a page size that does not divide the number of records, smaller than the usual one if possible. */
  private def check(pageSize: Long, end: Long)(resize: Long => Pagination): (Pagination, Long) = {
    val sizes = (pageSize - 1 to 2L by -1L).iterator ++ Iterator.iterate(pageSize + 1)(_ + 1)
    val size = sizes.find(end % _ != 0).get
    (resize(size), end / size * size)
  }
}
