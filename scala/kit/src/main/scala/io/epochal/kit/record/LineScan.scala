package io.epochal.kit.record

/** Scan of a page whose records stand in lines. */
final private[record] class LineScan(format: RecordFormat.OfLines, place: String) extends PageScan {

  /** Each piece of the body has a span, some without records. */
  override def read(body: Body, skip: Long, take: Long): ScannedPage =
    if (body.absent) ScannedPage.nothing
    else {
      val beginning = body.piece
      if (!body.isUtf8) throw new BodyProblem("it is not in UTF-8")
      format.refuse(beginning)
      var records = 0
      val spans = format
        .pieces(body)
        .map { piece =>
          val lines = format.read(piece, place)
          var span = RecordSpan(0, 0, piece.length)
          while (lines.next()) {
            lines.pass()
            if (records - skip == take) span = span.copy(until = lines.start)
            else if (records >= skip && records - skip < take)
              span = span.copy(span.records + 1, if (span.records == 0) lines.start else span.from)
            records += 1
          }
          span
        }
        .toVector
      ScannedPage(records, spans)
    }

  override def blocks(scanned: ScannedPage, body: Body): Iterator[RecordBlock] =
    format.pieces(body).zip(scanned.spans.iterator).filter(_._2.records > 0).map { case (piece, span) =>
      RecordBlock(span.records, piece.bytes, span.from, span.until).behind(format.front(piece))
    }
}
