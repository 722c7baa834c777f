package io.epochal.rest.source.page

import java.util.zip.CRC32C

import io.epochal.kit.record.{Body, RecordBlock}

/** Tells the bytes of a page from those of others, by their number and their CRC-32C. */
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

  /** Of a response as it came. */
  def of(body: Body): Long = {
    val digest = new PageDigest
    body.foreachBlock(digest.add)
    digest.value
  }
}
