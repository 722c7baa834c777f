package io.epochal.spark.source.rest.page

import java.util.Arrays

import io.epochal.spark.http.{BodyBuffer, Endpoint}
import io.epochal.spark.source.rest.record.{ArrayPart, BodyFormat, BodyProblem, Utf8Body}

/** Of an answer whose records stand in lines. */
final private[rest] class LineScan(format: BodyFormat.OfLines, endpoint: Endpoint) extends AnswerScan {

  /** Each piece of the answer has a part, some without records. */
  override def read(buffer: BodyBuffer, skip: Long): ScannedAnswer =
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
          var part = ArrayPart(0, 0, piece.length)
          while (lines.next()) {
            lines.pass()
            if (records >= skip) part = part.copy(part.records + 1, if (part.records == 0) lines.start else part.from)
            records += 1
          }
          part
        }
        .toVector
      ScannedAnswer(records, parts, Map.empty)
    }

  override def blocks(scanned: ScannedAnswer, answer: Answer): Iterator[RecordBlock] =
    format.pieces(answer.body).zip(scanned.parts.iterator).filter(_._2.records > 0).map { case (piece, part) =>
      val front = format.front(piece)
      if (front.isEmpty) RecordBlock(part.records, piece.bytes, part.from, part.until, answer.from)
      else {
        val length = part.until - part.from
        val bytes = Arrays.copyOf(front, front.length + length)
        System.arraycopy(piece.bytes, part.from, bytes, front.length, length)
        RecordBlock(part.records, bytes, 0, bytes.length, answer.from)
      }
    }
}
