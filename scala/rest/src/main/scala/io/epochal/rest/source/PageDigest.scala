package io.epochal.rest.source

import java.util.zip.CRC32C

import io.epochal.kit.record.RecordBlock

/** Identifies the bytes of a page by their number and CRC-32C. */
final private[rest] class PageDigest {
  private val crc = new CRC32C
  private var length = 0L

  def add(block: RecordBlock): Unit = {
    crc.update(block.bytes, block.from, block.length)
    length += block.length
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
}
