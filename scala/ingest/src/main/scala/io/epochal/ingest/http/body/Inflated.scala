package io.epochal.ingest.http.body

import java.io.{ByteArrayInputStream, EOFException}
import java.util.zip.ZipException

import scala.util.Using

import io.epochal.kit.gzip.GzipMembers

/** Bodies with `Content-Encoding: gzip`. */
private[http] object Inflated {

  /** Decompresses in the memory that the body may have: one that becomes too large is read no further.
    *
    * @param into
    *   an empty buffer
    * @throws Refused
    *   where it is no gzip, is cut, or becomes too large
    */
  def into(compressed: BodyBuffer, into: BodyBuffer): Unit =
    try
      Using.resource(
        new GzipMembers(new ByteArrayInputStream(compressed.bytes, 0, compressed.length), Long.MaxValue, MaxMembers)) {
        members =>
          var count = 0
          while (count >= 0) {
            if (into.free == 0) into.room(Block): Unit
            count = members.read(into.bytes, into.length, into.free)
            if (count > 0) into.added(count)
          }
      }
    catch {
      case e @ (_: ZipException | _: EOFException | _: GzipMembers.TooManyMembers) =>
        throw new Refused(Refusal.malformed(s"the body cannot be decompressed: ${e.getMessage}", None, None))
    }

  private val Block = 16 << 10
  private val MaxMembers = 10000
}
