package io.epochal.rest.source.page

import io.epochal.rest.http.request.{BodyBuffer, Endpoint}
import io.epochal.rest.source.record.{AnswerPart, BodyFormat, BodyProblem, ScannedAnswer, Utf8Body}

/** Of an answer whose records stand in lines. */
final private[rest] class LineScan(format: BodyFormat.OfLines, endpoint: Endpoint) extends AnswerScan {

  /** Each piece of the answer has a part, some without records. */
  override def read(buffer: BodyBuffer, skip: Long, take: Long): ScannedAnswer =
    if (buffer.absent) ScannedAnswer.nothing
    else {
      val body = Utf8Body.of(buffer)
      if (!body.isInPlace) throw new BodyProblem("it is not in UTF-8")
      format.refuse(body)
      var records = 0
      val parts = format
        .pieces(buffer)
        .map { piece =>
          val lines = format.inMemory(piece, endpoint)
          var part = AnswerPart(0, 0, piece.length)
          while (lines.next()) {
            lines.pass()
            if (records - skip == take) part = part.copy(until = lines.start)
            else if (records >= skip && records - skip < take)
              part = part.copy(part.records + 1, if (part.records == 0) lines.start else part.from)
            records += 1
          }
          part
        }
        .toVector
      ScannedAnswer(records, parts, Map.empty)
    }

  override def blocks(scanned: ScannedAnswer, answer: Answer): Iterator[RecordBlock] =
    format.pieces(answer.body).zip(scanned.parts.iterator).filter(_._2.records > 0).map { case (piece, part) =>
      RecordBlock(part.records, piece.bytes, part.from, part.until, answer.from).behind(format.front(piece))
    }
}
