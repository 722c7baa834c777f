package io.epochal.kit.record

import io.epochal.core.error.EpochalException

/** Scan of a page whose records stand in a JSON array. The arguments are those of [[PageScan.of]]. */
final private[record] class ArrayScan(
    format: RecordFormat.Json,
    place: String,
    pointers: Seq[String],
    key: Option[String],
    nullIsEmpty: Boolean
) extends PageScan {

  private val around = FieldNode.of(pointers)
  private val inRecord = key.map(pointer => FieldNode.of(Seq(pointer)))

  override def read(body: Body, skip: Long, take: Long): ScannedPage =
    if (body.absent) ScannedPage.nothing
    else {
      val piece = body.piece
      if (!body.isUtf8) throw new BodyProblem("it is not in UTF-8")
      try body.file.fold(inMemory(piece, skip, take))(inFile(_, skip, take))
      catch {
        case missing: EpochalException =>
          new FieldPass(around, body.file.getOrElse(piece).parser(0)).all(): Unit // Throws where the body broke off.
          throw missing
      }
    }

  override def blocks(scanned: ScannedPage, body: Body): Iterator[RecordBlock] =
    ArraySpans.blocks(body.file.getOrElse(body.piece), scanned.spans)

  private def inFile(file: BodyFile, skip: Long, take: Long): ScannedPage = {
    val array = new TokenRecords(file, format, place, nullIsEmpty)
    val found = ArraySpans.of(array, file.partBytes, skip, take)
    page(array, found, file).copy(spans = found.spans)
  }

  /** The spans keep the white space inside the brackets. */
  private def inMemory(piece: Piece, skip: Long, take: Long): ScannedPage = {
    val array = new JsonRecords(piece, format, place, nullIsEmpty)
    val found = ArraySpans.of(array, Int.MaxValue, skip, take)
    val page = this.page(array, found, piece)
    page.copy(spans = found.spans.map { span =>
      val from = if (skip == 0) array.begin else span.from
      span.copy(from = from, until = found.rest.fold(array.end)(comma(piece, _)))
    })
  }

  private def page(array: ArrayRecords, found: ArraySpans, body: ByteSource): ScannedPage = {
    val fields = array.around(new FieldPass(around, _).all())
    fields.copy(records = found.count, keys = found.ends.flatMap { case (first, last) => keys(body, first, last) })
  }

  /** The comma before a record. */
  private def comma(piece: Piece, record: Int): Int = {
    var at = record - 1
    while (piece.bytes(at) != ',') at -= 1
    at
  }

  private def keys(body: ByteSource, first: Int, last: Int): Option[(Option[String], Option[String])] =
    inRecord.map(record => (keyOf(record, body, first), keyOf(record, body, last)))

  /** Only of an object or array: for a number Jackson would read on into what follows the record. */
  private def keyOf(record: FieldNode, body: ByteSource, from: Int): Option[String] = {
    val first = body.slice(from, from + 1)(0)
    if (first != '{' && first != '[') None
    else new FieldPass(record, body.parser(from)).values().headOption.flatMap(_._2)
  }
}
