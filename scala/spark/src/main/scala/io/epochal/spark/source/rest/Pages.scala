package io.epochal.spark.source.rest

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonParser, JsonToken}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.spark.http.{BodyBuffer, HttpFailure, Json}

/** The records of one task, page after page, in the task's own thread. */
private[rest] trait Pages extends AutoCloseable {

  /** Of the record that `next` stopped at. */
  def index: Long

  /** How many pages were read. */
  def pages: Long

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  def skip(): Unit

  /** Converts the record.
    *
    * @param reason
    *   why the record that begins at a byte of the answer cannot be converted
    */
  def read[A](convert: JsonParser => A)(reason: (BodyBuffer, Int) => Option[String]): A

  override def close(): Unit = ()
}

/** Pages that were read once from end to end when they were received: each of them is whole JSON.
  *
  * @param pointer
  *   JSON Pointer to the array in a page
  */
abstract private[rest] class ScannedPages(options: RestOptions, pointer: String) extends Pages {
  private var cursor: RecordCursor = _
  private var part = PagePart(0, 0, 0)
  private var passed = 0
  private var opened = 0L

  /** Holds the page. */
  protected def buffer: BodyBuffer

  /** Moves to the next page, and says which of its records are wanted; None after the last. */
  protected def turn(): Option[PagePart]

  final override def index: Long = part.index + passed - 1

  final override def pages: Long = opened

  @scala.annotation.tailrec
  final override def next(): Boolean =
    if (passed < part.take) {
      if (!cursor.next()) throw new IllegalStateException(s"a page of ${part.take} records has $passed")
      passed += 1
      true
    } else
      turn() match {
        case None => false
        case Some(next) =>
          part = next
          passed = 0
          opened += 1
          open(part.skip)
          this.next()
      }

  final override def skip(): Unit = {
    val _ = cursor.parser.skipChildren()
  }

  final override def read[A](convert: JsonParser => A)(reason: (BodyBuffer, Int) => Option[String]): A = {
    val parser = cursor.parser
    if (parser.currentToken != JsonToken.START_OBJECT)
      throw invalid(s"it is ${Json.describe(parser.currentToken)}, and not an object")
    try convert(parser)
    catch { case NonFatal(e) => throw invalid(why(reason).getOrElse(HttpFailure.shown(e.toString))) }
  }

  private def open(record: Int): Unit = {
    cursor = new RecordCursor(buffer, pointer, options.endpoint)
    val _ = cursor.skip(record.toLong)
  }

  private def why(reason: (BodyBuffer, Int) => Option[String]): Option[String] = {
    open(part.skip + passed - 1)
    val _ = cursor.next()
    reason(buffer, cursor.parser.currentTokenLocation().getByteOffset.toInt).map(HttpFailure.shown)
  }

  private def invalid(reason: String): EpochalException =
    Conditions.RecordInvalid("index" -> index, "url" -> options.endpoint, "reason" -> reason)
}

/** Records of a page: `take` of them, after the first `skip`.
  *
  * @param index
  *   the number of the first of them
  */
final private[rest] case class PagePart(index: Long, skip: Int, take: Int)
