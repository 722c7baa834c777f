package io.epochal.rest.source

import java.util.concurrent.atomic.AtomicBoolean

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.{Body, PageScan, RecordBlock, ScannedPage}
import io.epochal.rest.http.{HttpCall, HttpClient, ResponseHead}

/** Answers the requests of [[Step]]s: the one loop of a batch, a poll, a list of several and the search for an end. Not
  * thread-safe.
  *
  * @param contacted
  *   whether the server has responded before
  */
final private[rest] class PageRequests(
    list: ListRequests,
    client: HttpClient,
    scan: PageScan,
    contacted: AtomicBoolean = new AtomicBoolean)
    extends AutoCloseable {
  private val other = Body.ofPage()
  private var deliveredAnswer = Option.empty[PageAnswer]

  /** The page whose records are delivered; the caller closes it. */
  val page = new Page

  /** The records of that page. */
  def blocks: Iterator[RecordBlock] = deliveredAnswer.iterator.flatMap(_.blocks)

  /** @throws EpochalException
    *   the refusal, or one of the HTTP conditions
    */
  @scala.annotation.tailrec
  def run[A](step: Step[A]): A = step match {
    case Step.Done(value)                          => value
    case Step.Refuse(error)                        => throw error
    case Step.Request(call, skip, tolerates, next) => run(next(answer(call, skip, tolerates)))
  }

  override def close(): Unit = {
    page.close()
    other.close()
  }

  private def answer(call: HttpCall, skip: Option[Long], tolerates: EpochalException => Boolean): Option[PageAnswer] = {
    val body = if (skip.isEmpty) other else page.body
    def read(head: ResponseHead) = if (head.notModified) ScannedPage.nothing else scan.read(body, skip.getOrElse(0L))
    try {
      val answer =
        client.call(call, body, !contacted.get)(head => new PageAnswer(call.target, head, read(head), body, scan))
      contacted.set(true)
      if (skip.nonEmpty) {
        deliveredAnswer = Some(answer)
        page.recordOrigin(answer.head, PageUrl.displayUrl(list.endpoint, list.own, call.target), list)
      }
      Some(answer)
    } catch { case error: EpochalException if tolerates(error) => None }
  }
}
