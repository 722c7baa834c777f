package io.epochal.rest.source.record

import io.epochal.rest.http.request.AnswerFile

/** The lines of an answer that lies in a file, in pieces that memory can hold: of whole lines, and in memory that the next one
  * takes.
  */
final private[rest] class FileLines(file: AnswerFile, format: BodyFormat.OfLines) extends Iterator[Utf8Body] {
  import FileLines.MostBytes

  private var bytes = Array.emptyByteArray
  private var front = Array.emptyByteArray
  private var at = 0

  override def hasNext: Boolean = at < file.length

  override def next(): Utf8Body = {
    val first = at == 0
    val piece = from(file.partBytes)
    if (first) front = format.front(piece)
    piece
  }

  /** @param most
    *   bytes of the file
    */
  @scala.annotation.tailrec
  private def from(most: Int): Utf8Body = {
    val count = math.min(most, file.length - at)
    val end = front.length + count
    if (bytes.length < end) {
      bytes = Array.emptyByteArray // The two need not be there at the same time.
      bytes = new Array[Byte](end)
    }
    System.arraycopy(front, 0, bytes, 0, front.length)
    file.read(at, bytes, front.length, count)
    val all = new Utf8Body(bytes, end)
    val cut = if (at + count == file.length) end else format.whole(all)
    if (cut > front.length) {
      at += cut - front.length
      new Utf8Body(bytes, cut)
    } else if (most >= MostBytes) throw new BodyProblem(s"a line of it has more than $most bytes")
    else from(most * 2)
  }
}

private object FileLines {

  /** Of a line. A quote that is never closed would have memory take the rest of the answer. */
  private val MostBytes = 128 << 20
}
