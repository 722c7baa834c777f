package io.epochal.kit.record

import scala.annotation.unused

import io.epochal.kit.json.JsonScan

/** The format of records in a body. Arguments named `place` say in errors where the body came from. */
sealed abstract class RecordFormat(val name: String) extends Serializable {

  /** The records of a body, positioned before the first. */
  final private[epochal] def open(body: Body, place: String): Records =
    if (body.absent) NoRecords
    else {
      prepare(body, place)
      val piece = body.piece
      refuse(piece)
      body.file.fold(read(piece, place))(read(_, place))
    }

  /** Rewrites a body in the form that is read, unless it is in that form. */
  private[record] def prepare(@unused body: Body, @unused place: String, @unused nullIsEmpty: Boolean = false): Unit =
    ()

  /** Rejects a body whose beginning shows that it is something else, such as an HTML page. */
  private[record] def refuse(body: Piece): Unit

  /** The records of a body in memory, or of a block. */
  private[epochal] def read(piece: Piece, place: String): Records

  private[record] def read(file: BodyFile, place: String): Records

  /** Counts the records of a body, and reads it to its end. */
  final private[epochal] def count(body: Body, place: String): Long = {
    val records = open(body, place)
    val count = records.skip(Long.MaxValue)
    records.finish()
    count
  }

  /** The format of the blocks that a [[PageScan]] creates from such bodies. */
  private[epochal] def ofBlocks: RecordFormat

  /** Describes how lines are split, for readers of blocks; None if records are not lines. */
  private[epochal] def lines: Option[String]
}

object RecordFormat {
  sealed abstract class OfLines(name: String) extends RecordFormat(name) {

    override private[epochal] def read(piece: Piece, place: String): LineRecords

    final override private[record] def read(file: BodyFile, place: String): Records =
      new PiecedRecords(new LinePieces(file, this), read(_, place))

    /** The body, in pieces that fit into memory. */
    final private[record] def pieces(body: Body): Iterator[Piece] =
      body.file.fold[Iterator[Piece]](Iterator.single(body.piece))(new LinePieces(_, this))

    /** The bytes that a block needs before lines of this piece. */
    private[record] def front(piece: Piece): Array[Byte]

    /** The number of bytes of a piece that are certainly whole lines, when the body continues after it. */
    private[record] def whole(piece: Piece): Int
  }

  /** A JSON value that contains an array of records.
    *
    * @param pointer
    *   JSON Pointer to the array
    * @param mayMiss
    *   whether a missing array, or null in its place, is an empty array
    * @param shape
    *   how records are found, if not by `pointer`
    */
  final case class Json(pointer: String, mayMiss: Boolean = false, shape: Option[RecordShape] = None)
      extends RecordFormat("JSON") {

    /** JSON Pointers to the arrays of records in a response. */
    private[record] def arrays: Seq[String] = shape.fold(Seq(pointer))(_.places.map(_.pointer))

    /** The format of a prepared body. */
    private[record] val array: Json = if (shape.isEmpty) this else Json("")

    override private[record] def prepare(body: Body, place: String, nullIsEmpty: Boolean): Unit =
      shape.filterNot(_ => body.rewritten).foreach { shape =>
        body.rewrite((source, out) => new Reshaping(this, shape, source, place, nullIsEmpty, out).write())
      }

    override private[record] def refuse(body: Piece): Unit = ()

    override private[epochal] def read(piece: Piece, place: String): Records = new JsonRecords(piece, array, place)

    override private[record] def read(file: BodyFile, place: String): Records = {
      val array = new TokenRecords(file, this.array, place)
      val spans = ArraySpans.of(array, file.partBytes, 0).spans
      array.finish()
      val pieces = ArraySpans.blocks(file, spans).map(block => new Piece(block.bytes, block.until))
      new PiecedRecords(pieces, ofBlocks.read(_, place))
    }

    override private[epochal] def ofBlocks: RecordFormat = Json("")

    override private[epochal] def lines: Option[String] = None
  }

  /** One JSON value per line.
    *
    * @param tolerant
    *   whether a line that is not JSON is a record that does not fit, rather than an error of the body
    */
  final case class Ndjson(tolerant: Boolean) extends OfLines("JSON") {

    override private[record] def refuse(body: Piece): Unit =
      BodyProblem.refuse(body, "<[", "JSON, one record a line")

    override private[epochal] def read(piece: Piece, place: String): LineRecords = new NdjsonRecords(piece, tolerant)

    override private[record] def front(piece: Piece): Array[Byte] = Array.emptyByteArray

    override private[record] def whole(piece: Piece): Int = {
      var end = piece.length
      while (end > 0 && piece.bytes(end - 1) != '\n') end -= 1
      end
    }

    /** A block has only lines that were accepted as records. */
    override private[epochal] def ofBlocks: RecordFormat = Ndjson(tolerant = true)

    override private[epochal] def lines: Option[String] = Some("ndjson")
  }

  /** Lines of fields (RFC 4180).
    *
    * @param header
    *   whether the first line of each body names the fields; without it they are the columns in order
    * @param separator
    *   an ASCII character
    * @param nullText
    *   an unquoted text that means NULL, as an empty one does
    * @param tolerant
    *   whether a line that is not UTF-8 is a record that does not fit, rather than an error of the body
    */
  final case class Csv(header: Boolean, separator: Char, nullText: Option[String], tolerant: Boolean = false)
      extends OfLines("CSV") {

    override private[record] def refuse(body: Piece): Unit = {
      BodyProblem.refuse(body, "<", "CSV")
      // Its names would be unknown.
      if (header) {
        val end = body.bytes.indexOf('\n'.toByte)
        if (!new JsonScan(body.bytes, 0, if (end < 0) body.length else math.min(end, body.length)).text())
          throw new BodyProblem("the header of its CSV is not in UTF-8")
      }
    }

    override private[epochal] def read(piece: Piece, place: String): LineRecords = new CsvRecords(piece, this, place)

    /** The header; without one an empty line, so that the next bytes are not taken for a byte order mark. */
    override private[record] def front(piece: Piece): Array[Byte] = {
      val lines = withoutHeader(piece)
      (if (header && lines.next()) lines.bytes else Array.emptyByteArray) :+ '\n'.toByte
    }

    /** The last line may continue after the piece, within quotes or not. So it does not count, even if it is the only one. */
    override private[record] def whole(piece: Piece): Int = {
      val lines = withoutHeader(piece)
      var first = -1
      try
        while (lines.next())
          if (first < 0) first = lines.start
      catch { case _: BodyProblem => () }
      if (first < 0 || lines.start == first) 0 else lines.start
    }

    override private[epochal] def ofBlocks: RecordFormat = copy(tolerant = true)

    override private[epochal] def lines: Option[String] = Some(s"csv, sep='$separator', header=$header")

    private def withoutHeader(piece: Piece) = new CsvRecords(piece, copy(header = false), "")
  }
}

/** The lines of a body in a file, in pieces that fit into memory. A piece has whole lines, and is valid until the next one is
  * taken.
  */
final private[record] class LinePieces(file: BodyFile, format: RecordFormat.OfLines) extends Iterator[Piece] {

  /** The maximum size of a line. With a quote that is never closed, memory would take the rest of the response. */
  final private val MaxBytes = 128 << 20

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

  /** Reads the next piece.
    *
    * @param most
    *   maximum number of the file's bytes
    */
  @scala.annotation.tailrec
  private def from(most: Int): Piece = {
    val count = math.min(most, file.length - at)
    val end = front.length + count
    if (bytes.length < end) {
      bytes = Array.emptyByteArray // Frees the old array before the new one is allocated.
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
