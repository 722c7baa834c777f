package io.epochal.kit.record

/** The lines of a body that lies in a file, in pieces that memory can hold. A piece has whole lines, and is valid until the next one
  * is taken.
  */
final private[record] class LinePieces(file: BodyFile, format: RecordFormat.OfLines) extends Iterator[Piece] {
  import LinePieces.MaxBytes

  private var bytes = Array.emptyByteArray
  private var front = Array.emptyByteArray
  private var at = 0

  override def hasNext: Boolean = at < file.length

  override def next(): Piece = {
    val first = at == 0
    val piece = from(file.partBytes)
    if (first) front = format.front(piece)
    piece
  }

  /** @param most
    *   bytes of the file
    */
  @scala.annotation.tailrec
  private def from(most: Int): Piece = {
    val count = math.min(most, file.length - at)
    val end = front.length + count
    if (bytes.length < end) {
      bytes = Array.emptyByteArray // The two need not be there at the same time.
      bytes = new Array[Byte](end)
    }
    System.arraycopy(front, 0, bytes, 0, front.length)
    file.read(at, bytes, front.length, count)
    val all = new Piece(bytes, end)
    val cut = if (at + count == file.length) end else format.whole(all)
    if (cut > front.length) {
      at += cut - front.length
      new Piece(bytes, cut)
    } else if (most >= MaxBytes) throw new BodyProblem(s"a line of it has more than $most bytes")
    else from(most * 2)
  }
}

private object LinePieces {

  /** Of a line. A quote that is never closed would have memory take the rest of the response. */
  private val MaxBytes = 128 << 20
}
