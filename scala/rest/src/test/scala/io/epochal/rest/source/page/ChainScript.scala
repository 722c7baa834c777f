package io.epochal.rest.source.page

import java.time.Instant

import scala.collection.mutable

import org.apache.hc.core5.http.message.BasicClassicHttpResponse
import org.scalatest.Assertions

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.{Bodies, HttpCall, Refusal, ResponseHead}
import io.epochal.rest.source._

/** Pages that are followed one after the other, by replies to requests instead of a server. */
trait ChainScript extends Assertions {

  /** @param sent
    *   the query of the request, or its body
    * @param body
    *   or a status
    */
  protected case class Reply(sent: String, body: String, headers: Seq[(String, String)] = Nil)

  protected def read(options: (String, String)*): RestOptions =
    RestOptions
      .read(Map("url" -> "http://h/c", "schema" -> "id INT", "records" -> "/d") ++ options)
      .fold(throw _, identity)

  /** A page with so many records. */
  protected def page(sent: String, ids: Range, rest: String = "", headers: Seq[(String, String)] = Nil): Reply =
    Reply(sent, s"""{"d":${ids.map(id => s"""{"id":$id}""").mkString("[", ",", "]")}$rest}""", headers)

  protected def next(name: String): String = s""","next":"$name""""

  final protected class Script(options: RestOptions, pagination: ChainedPagination, replies: Seq[Reply]) {
    val requests = mutable.Buffer.empty[String]
    private val chain = new PageChain(options.requests, pagination, maxEmpty = 3)
    private val scan = options.requests.scan(pagination.pointers, pagination.key, pagination.json)
    private val later = replies.groupBy(_.sent).map { case (sent, all) => sent -> mutable.Queue.from(all) }

    private def answer(call: HttpCall, skip: Option[Long]): PageAnswer = {
      val sent = call.body.fold(call.target.stripPrefix("/c").stripPrefix("?"))(body => new String(body.bytes, "UTF-8"))
      requests += sent + call.unless.fold("")(validator => s" unless ${validator.value}")
      val all = later.getOrElse(sent, fail(s"no reply to '$sent'"))
      val reply = if (all.sizeIs > 1) all.dequeue() else all.head
      val status = reply.body.toIntOption.getOrElse(200)
      val response = new BasicClassicHttpResponse(status)
      reply.headers.foreach { case (name, value) => response.addHeader(name, value) }
      val refusal = Option.when(status >= 400 && call.endAfter > 0)(Refusal(status, ""))
      val head = new ResponseHead(response, notModified = status == 304, refusal = refusal)
      val body = Bodies.of(if (status == 200) reply.body else "[]")
      new PageAnswer(
        call.target,
        head,
        if (status == 200) scan.read(body, skip.getOrElse(0)) else ScannedPage.nothing,
        body,
        scan)
    }

    @scala.annotation.tailrec
    private def run[A](step: Step[A]): Either[EpochalException, A] = step match {
      case Step.Done(value)                  => Right(value)
      case Step.Refuse(error)                => Left(error)
      case Step.Request(call, skip, _, next) => run(next(Some(answer(call, skip))))
    }

    /** Follows the list to its end.
      *
      * @return
      *   the number of records of each page, and the state or the refusal
      */
    def follow(start: ChainState = ChainState()): (Seq[Int], Either[EpochalException, ChainState]) = {
      val delivered = mutable.Buffer.empty[Int]
      def next(state: ChainState): Either[EpochalException, ChainState] = run(chain.next(state)) match {
        case Left(error) => Left(error)
        case Right(one) =>
          delivered += one.records
          if (chain.isAtEnd(one.state)) Right(one.state) else next(one.state)
      }
      val end = next(chain.begin(start, Instant.parse("2026-01-01T03:00:00Z"), again = false))
      (delivered.toSeq, end)
    }
  }

  protected def script(options: (String, String)*)(replies: Reply*): Script = {
    val parsed = read(options: _*)
    val pagination = parsed.requests.paging match {
      case counted: Pagination        => CountedPages(counted, total = ListTotal.of(parsed), grows = true)
      case chained: ChainedPagination => chained
      case other                      => fail(s"$other")
    }
    new Script(parsed, pagination, replies)
  }

  protected val cursor = Seq("pagination" -> "cursor", "nextCursor" -> "/next")
  protected val flagged = cursor :+ ("hasMore" -> "/more")
  protected val keyset = Seq("pagination" -> "keyset", "keyField" -> "/id")
  protected val link = Seq("pagination" -> "link")
  protected val nextUrl = Seq("pagination" -> "next-url", "nextUrl" -> "/next")
  protected val offset = Seq("pagination" -> "offset", "pageSize" -> "2")
  protected val byPage = Seq("pagination" -> "page", "pageSize" -> "2")
  protected val windows = Seq(
    "pagination" -> "time-window",
    "windowStart" -> "2026-01-01T00:00:00Z",
    "windowLength" -> "1h",
    "windowFormat" -> "epoch-seconds")
  protected def window(hour: Int, more: String = ""): String = {
    val from = 1767225600L + 3600 * hour
    s"from=$from&to=${from + 3600}$more"
  }
  protected def linked(links: String*): Seq[(String, String)] = links.map("Link" -> _)
}
