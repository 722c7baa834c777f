package io.epochal.rest.sink

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.core.retry.{Retrier, RetryEvent, Verdict}
import io.epochal.kit.record.Body
import io.epochal.rest.http._

/** Sends the rows of a request until each is accepted or rejected. Belongs to one task.
  *
  * [[HttpClient]] retries failed connections, timeouts and statuses of the whole response. This class retries single
  * rows whose result is transient (they are resent alone, under a key derived from the first one), and 409 to a request
  * with a key: the server is still busy with the previous attempt. A status in `rejectStatuses` rejects the rows once no
  * retry is left. Of changes, the rows after such a row are resent with it, so that none overtakes a later change of the
  * same row.
  *
  * @param share
  *   the task's part of the query's budget
  * @param hasResponded
  *   whether the server has responded to this query before; if not, an unreachable server is given up soon
  */
final private[rest] class RowSender(
    settings: RestSinkSettings,
    counters: HttpCounters,
    share: HttpBudget,
    hasResponded: Boolean
) extends AutoCloseable {
  private val client = new HttpClient(settings.http, counters, share)
  private val deleting = settings.changes.flatMap(_.deletes).map(beside)
  private val upsert = settings.changes.flatMap(_.upsert)
  private val creating = upsert.map(upsert => beside(upsert.create))
  private val responses = new Body
  private val results = settings.results.map(new ResultReader(_, settings.http.retryStatuses, settings.place))
  private val keyHeader = settings.keyed
  private var isFirstRequest = !hasResponded

  /** Bytes of request bodies so far; for any thread. */
  @volatile var sentBytes: Long = 0L

  /** A client of another URL of the server, within the same share of the budget. */
  private def beside(url: RequestUrl): HttpClient =
    new HttpClient(
      settings.http.copy(endpoint = url.endpoint.withCredential(settings.http.endpoint.credential)),
      counters,
      share.nothing)

  /** @param key
    *   the idempotency key; empty if none is sent
    * @param refuse
    *   called for each rejected row, with its number in the batch, its key and the reason
    * @throws EpochalException
    *   if a row cannot be sent, or the server does not respond
    */
  def send(batch: RequestBatch, target: RowTarget, key: String)(refuse: (Int, String, String) => Unit): Unit = {
    var pending = Array.range(0, batch.rows)
    var requestKey = key
    var round = 0
    def classify(error: Throwable): Verdict = error match {
      case _: RowsLeft => Verdict.Retry
      // A creation without a key may have found the row of its first attempt.
      case e: EpochalException if (keyHeader || creating.nonEmpty) && isBusy(e) => Verdict.Retry
      case _                                                                    => Verdict.GiveUp
    }
    try
      new Retrier(settings.http.retry, classify, countRetry).run { _ =>
        val outcome = post(batch, target, requestKey, pending).zip(pending)
        outcome.foreach {
          case (RowResult.Refused(why), row) => refuse(row, requestKey, why)
          case _                             => ()
        }
        val again = outcome.collect { case (RowResult.Again(why), row) => row -> why }
        pending =
          if (settings.changes.isEmpty) again.map(_._1).toArray
          else outcome.dropWhile(!isAgain(_)).collect { case (result, row) if !isRefused(result) => row }.toArray
        again.headOption.foreach { case (first, reason) =>
          round += 1
          if (keyHeader) requestKey = IdempotencyKey.again(key, round, pending.toSeq)
          throw new RowsLeft(first, pending.length, reason, round)
        }
      }
    catch {
      case e: EpochalException if status(e).exists(code => settings.deadLetters.exists(_.statuses.contains(code))) =>
        val together = if (pending.length > 1) s", with ${pending.length} rows in one request" else ""
        pending.foreach(refuse(_, requestKey, s"${e.values("status")}: ${e.values("body")}$together"))
    }
  }

  private def post(batch: RequestBatch, target: RowTarget, key: String, rows: Array[Int]): Seq[RowResult] = {
    val deletes = rows.map(batch.deletes).toSeq
    def request(client: HttpClient, method: String, path: String, key: String, successes: Set[Int]) = {
      val body = Option.when(!target.deletes)(new HttpBody(settings.contentType, batch.body(settings.body, key, rows)))
      val call = HttpCall(
        method,
        path,
        settings.keyHeader.map(_ -> key).toSeq,
        body,
        successStatuses = successes,
        repeatable = keyHeader || RowSender.Idempotent(method))
      sentBytes += body.fold(0)(_.bytes.length)
      val first = isFirstRequest
      isFirstRequest = false
      client.call(call, responses, first) { response =>
        response.status -> results
          .fold(Seq.fill[RowResult](rows.length)(RowResult.Accepted))(_.read(response, responses, deletes))
      }
    }
    def create(url: RequestUrl, client: HttpClient) =
      request(client, "POST", url.template.target(target.create), IdempotencyKey.create(key), Set.empty)._2
    if (target.deletes) {
      val path = settings.changes.flatMap(_.deletes).get.template.target(target.values)
      request(deleting.get, "DELETE", path, key, RowSender.Gone)._2
    } else {
      val missing = upsert.map(_.missing).toSet
      val (status, response) = request(client, settings.method, settings.url.target(target.values), key, missing)
      if (missing(status)) create(upsert.get.create, creating.get) else response
    }
  }

  override def close(): Unit = (Seq(client) ++ deleting ++ creating).foreach(_.close())

  /** The status of an unsuccessful response. */
  private def status(error: EpochalException): Option[Int] =
    Option.when(error.condition == Conditions.HttpStatus)(error.values("status").toInt)

  private def isAgain(outcome: (RowResult, Int)): Boolean = outcome._1.isInstanceOf[RowResult.Again]
  private def isRefused(result: RowResult): Boolean = result.isInstanceOf[RowResult.Refused]

  private def isBusy(error: EpochalException): Boolean = status(error).contains(409)

  private def countRetry(event: RetryEvent): Unit = counters.countRetry(
    event,
    settings.http.retry,
    event.cause match {
      case again: RowsLeft =>
        s"${settings.place} did not accept ${Plural.of(again.rows.toLong, "row")} yet: ${again.reason}"
      case error: EpochalException => error.problem
      case other                   => other.getMessage
    }
  )
}

private[rest] object RowSender {

  /** Statuses of responses to a deletion that say that the row does not exist. */
  val Gone: Set[Int] = Set(404, 410)

  /** Methods that a server may process twice (RFC 9110, section 9.2.2). */
  private val Idempotent = Set("PUT", "DELETE")
}

/** Rows that the server has not accepted yet.
  *
  * @param first
  *   number of the first one in its batch
  */
final private[rest] class RowsLeft(val first: Int, val rows: Int, val reason: String, val attempts: Int)
    extends Exception(reason, null, false, false)
