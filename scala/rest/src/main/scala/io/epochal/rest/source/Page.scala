package io.epochal.rest.source

import java.time.Instant
import java.util.Locale
import java.util.concurrent.TimeUnit.{NANOSECONDS, SECONDS}
import java.util.zip.CRC32C

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.{FileStore, Slice}
import io.epochal.kit.json.Json
import io.epochal.kit.record.{Body, RecordBlock, RecordOrigin, ScannedPages}
import io.epochal.kit.source.journal.JournalFrames
import io.epochal.rest.http.{HttpBudget, HttpClient, ResponseHead}

/** A response in a reusable buffer. */
final private[rest] class Page extends AutoCloseable {
  val body: Body = Body.ofPage()
  private var from = Option.empty[ResponseOrigin]

  /** The response's origin; None if no column needs it. */
  def origin: Option[ResponseOrigin] = from

  /** Records the origin if a column needs it.
    *
    * @param url
    *   without possible secrets
    */
  def received(head: ResponseHead, url: => String, options: RestOptions): Unit =
    from = Option.when(options.keepsOrigin) {
      val now = Instant.now()
      ResponseOrigin(
        url,
        head.status,
        SECONDS.toMicros(now.getEpochSecond) + NANOSECONDS.toMicros(now.getNano.toLong),
        Option.when(options.rules.origin.contains(OriginColumns.Headers))(ResponseHeaders.of(head, options.own))
      )
    }

  /** Releases the body; the page can be reused. */
  override def close(): Unit = body.close()
}

/** The headers of a response, for a column: names in lower case, and values of the same name joined by ", ". Headers
  * that may be credentials are omitted, and known secrets are masked in the others.
  */
private[rest] object ResponseHeaders {
  private val Secret = "cookie|auth|token|secret|session|credential|signature|csrf|xsrf|api-?key".r.unanchored

  def of(response: ResponseHead, own: OwnParameters): Map[String, String] =
    response.all
      .map { case (name, value) => name.toLowerCase(Locale.ROOT) -> value }
      .filterNot { case (name, _) => Secret.matches(name) }
      .groupMapReduce(_._1)(_._2)((one, other) => s"$one, $other")
      .map { case (name, text) => name -> own.masked(text) }
}

/** Identifies the bytes of a page by their number and CRC-32C. */
final private[rest] class PageDigest {
  private val crc = new CRC32C
  private var length = 0L

  def add(block: RecordBlock): Unit = add(block.bytes, block.from, block.length)

  def add(bytes: Array[Byte], from: Int, count: Int): Unit = {
    crc.update(bytes, from, count)
    length += count
  }

  def value: Long = crc.getValue << 32 | length
}

private[rest] object PageDigest {

  def of(blocks: Iterator[RecordBlock]): Long = {
    val digest = new PageDigest
    blocks.foreach(digest.add)
    digest.value
  }

  def of(bytes: Array[Byte]): Long = of(Iterator(RecordBlock(1, bytes, 0, bytes.length)))

  /** The digest of a response body. */
  def of(body: Body): Long = {
    val digest = new PageDigest
    body.foreachBlock(digest.add)
    digest.value
  }
}

/** All records of a [[ChainedPagination]], for a batch read: one task follows all pages.
  *
  * @param until
  *   the end of the last time window; unused by other kinds
  * @param share
  *   of the query's budget; None: the task is the only one
  */
final private[rest] case class ChainPartition(until: Instant, share: Option[HttpBudget] = None) extends InputPartition

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
    case _ => new PageChain(options, pagination, client, NextPage.First, (_, _) => (), options.maxEmptyPages)
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

/** A task's records from the journal, in which each frame is a page.
  *
  * @param originOf
  *   the origin of a page's records
  */
final private[rest] class JournalPages(
    options: RestOptions,
    slices: Iterator[Slice],
    store: FileStore,
    originOf: PageFront => Option[RecordOrigin] = _.origin)
    extends ScannedPages {

  private val format = options.rules.format
  private val body = new Body
  private val frames = new JournalFrames(slices, store, options.source, options.lost(_, _, _))
  private var from = Option.empty[RecordOrigin]

  override def origin: Option[RecordOrigin] = from

  override protected def nextPage(): Boolean = {
    val slice = frames.next(body.reserve)
    slice.foreach { part =>
      val front = PageFront.take(body)
      if (front.lines != format.lines) throw changed(front)
      from = originOf(front)
      open(format.ofBlocks.read(body.piece, options.place), part.first, part.skip, part.take)
    }
    slice.nonEmpty
  }

  override def close(): Unit = frames.close()

  private def changed(front: PageFront): EpochalException = {
    def optionOf(lines: Option[String]) = s"{option:bodyFormat=${lines.getOrElse("json")}}"
    RestOptions.group.conflict(
      s"${optionOf(format.lines)}, pages that were journalled with ${optionOf(front.lines)}",
      "Set {option:bodyFormat} back until those pages are delivered, or use a new checkpoint.")
  }
}

/** The header of a page in a journal: a JSON object.
  *
  * @param lines
  *   the line-based format of the page; None for a JSON array
  * @param origin
  *   the response's origin, if a column needed it
  * @param params
  *   the values of a parent's record that named the list
  */
final private[rest] case class PageFront(
    lines: Option[String],
    origin: Option[ResponseOrigin],
    params: Map[String, String] = Map.empty) {

  /** Empty if all fields are absent. */
  def bytes: Array[Byte] =
    if (lines.isEmpty && origin.isEmpty && params.isEmpty) Array.emptyByteArray
    else {
      val front = PageFront.mapper.createObjectNode()
      lines.foreach(front.put("lines", _))
      origin.foreach { from =>
        front.put("url", from.url).put("status", from.status).put("fetchedAt", from.fetchedAt)
        from.headers.foreach(PageFront.put(front, "headers", _))
      }
      if (params.nonEmpty) PageFront.put(front, "params", params)
      PageFront.mapper.writeValueAsBytes(front)
    }
}

private[rest] object PageFront {
  private val Nothing = PageFront(None, None)
  private val mapper = new ObjectMapper(Json.factory)

  /** Reads the header and blanks it out in the page. */
  def take(page: Body): PageFront =
    if (page.bytes(0) != '{') Nothing
    else
      Using.resource(Json.factory.createParser(page.bytes, 0, page.length)) { json =>
        val front = read(mapper.readTree[JsonNode](json))
        page.blank(json.currentLocation.getByteOffset.toInt)
        front
      }

  private def put(front: ObjectNode, name: String, texts: Map[String, String]): Unit = {
    val fields = front.putObject(name)
    texts.foreach { case (key, value) => fields.put(key, value) }
  }

  private def read(front: JsonNode): PageFront = {
    def text(name: String) = Option(front.get(name)).map(_.asText)
    def texts(name: String) =
      Option(front.get(name)).map(_.properties.asScala.map(one => one.getKey -> one.getValue.asText).toMap)
    PageFront(
      text("lines"),
      text("url").map(ResponseOrigin(_, front.path("status").asInt, front.path("fetchedAt").asLong, texts("headers"))),
      texts("params").getOrElse(Map.empty))
  }
}
