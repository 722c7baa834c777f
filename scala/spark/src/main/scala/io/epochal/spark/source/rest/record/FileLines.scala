package io.epochal.spark.source.rest.record

import io.epochal.spark.http.AnswerFile

/** The lines of an answer that lies in a file, in pieces that memory can hold: of whole lines, and in memory that the next one
  * takes.
  *
  * @param head
  *   what stands before each piece but the first, given the first
  * @param whole
  *   how many bytes of a piece that something follows are whole lines of it, as far as the piece tells
  */
final private[rest] class FileLines(
    file: AnswerFile,
    head: Utf8Body => Array[Byte],
    whole: Utf8Body => Int
) extends Iterator[Utf8Body] {
  import FileLines.MostBytes

  private var bytes = Array.emptyByteArray
  private var front = Array.emptyByteArray
  private var at = 0

  override def hasNext: Boolean = at < file.length

  override def next(): Utf8Body = {
    val first = at == 0
    val piece = from(file.partBytes)
    if (first) front = head(piece)
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
    val cut = if (at + count == file.length) end else whole(all)
    if (cut > front.length) {
      at += cut - front.length
      new Utf8Body(bytes, cut)
    } else if (most >= MostBytes) throw new BodyProblem(s"a line of it has more than $most bytes")
    else from(most * 2)
  }
}

private[rest] object FileLines {

  /** Of a line. A quote that is never closed would have memory take the rest of the answer. */
  private val MostBytes = 128 << 20

  def ofNdjson(file: AnswerFile): FileLines =
    new FileLines(file, _ => Array.emptyByteArray, afterLastBreak)

  def ofCsv(file: AnswerFile, format: BodyFormat.Csv): FileLines =
    new FileLines(file, format.front, beforeLastLine(format, _))

  private def afterLastBreak(body: Utf8Body): Int = {
    var end = body.length
    while (end > 0 && body.bytes(end - 1) != '\n') end -= 1
    end
  }

  /** A line may go on behind the piece, and so may a field in quotes. A piece with one line has nothing that is known to be whole. */
  private def beforeLastLine(format: BodyFormat.Csv, body: Utf8Body): Int = {
    val line = format.split(body)
    var first = -1
    try
      while (line.next())
        if (first < 0) first = line.start
    catch { case _: BodyProblem => () }
    if (first < 0 || line.start == first) 0 else line.start
  }
}
