package io.epochal.rest.source

import java.time.Instant
import java.util.Locale
import java.util.concurrent.TimeUnit.{NANOSECONDS, SECONDS}
import java.util.zip.CRC32C

import io.epochal.kit.record.{Body, RecordBlock}
import io.epochal.rest.http.ResponseHead

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
