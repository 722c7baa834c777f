package io.epochal.rest.source

import java.util.zip.CRC32C

import io.epochal.kit.record.RecordBlock

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
