package io.epochal.rest.source

import java.util.zip.CRC32C

import io.epochal.kit.record.{Body, PageScan, RecordBlock, ScannedPage}
import io.epochal.rest.http.ResponseHead

/** The response to the request of a [[Step]]. Its body is valid until the next request of that kind.
  *
  * @param target
  *   path and query of the request: an address in the response may be relative to it
  * @param scanResult
  *   the number of records, the values at the pagination's pointers, and the keys
  */
final private[rest] class PageAnswer(
    val target: String,
    val head: ResponseHead,
    val scanResult: ScannedPage,
    val body: Body,
    scan: PageScan) {

  def records: Int = scanResult.records

  /** The records after those that the request skips. */
  def blocks: Iterator[RecordBlock] = scan.blocks(scanResult, body)

  /** Digest of those records. */
  lazy val content: Long = PageDigest.of(blocks)
}

/** Identifies the bytes of a page by their number and CRC-32C. */
private[rest] object PageDigest {

  def of(blocks: Iterator[RecordBlock]): Long = {
    val crc = new CRC32C
    val length = blocks.map { block =>
      crc.update(block.bytes, block.from, block.length)
      block.length.toLong
    }.sum
    crc.getValue << 32 | length
  }

  def of(bytes: Array[Byte]): Long = of(Iterator(RecordBlock(1, bytes, 0, bytes.length)))
}
