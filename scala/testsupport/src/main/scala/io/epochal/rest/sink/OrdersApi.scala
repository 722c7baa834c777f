package io.epochal.rest.sink

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ArrayNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** What a request was. */
final case class Received(method: String, path: String, key: Option[String], contentType: String, body: String)

final case class Answer(status: Int, body: String = "")

/** An API that takes rows with an `id`, alone, as an array or as lines.
  *
  * @param honours
  *   whether a request with a key that was seen is answered as the first one was, and applied no more; one with another body is
  *   refused with 422, as the IETF's draft has it
  */
final class OrdersApi(honours: Boolean) extends StubServer("/orders") {

  /** What becomes of a request that is not a repetition: it is applied where the status is below 300. */
  @volatile var answer: Received => Answer = _ => Answer(201, "{}")

  /** Called with each request before anything else; an answer is given as it is, and nothing is applied. */
  @volatile var intercept: Received => Option[Answer] = _ => None

  private val mapper = new ObjectMapper
  private val all = new ConcurrentLinkedQueue[Received]
  private val ids = new ConcurrentLinkedQueue[Long]
  private val stored = new ConcurrentHashMap[String, (String, Answer)]

  /** All requests so far. */
  def requests: Seq[Received] = all.asScala.toSeq

  def keys: Seq[String] = requests.flatMap(_.key)

  /** The ids that were applied, each as often as it was, ascending. */
  def applied: Seq[Long] = ids.asScala.toSeq.sorted

  def forget(): Unit = all.clear()

  /** The rows in a request. */
  def rows(request: Received): Seq[JsonNode] = request.body.linesIterator.filter(_.trim.nonEmpty).toSeq.flatMap { line =>
    mapper.readTree(line) match {
      case array: ArrayNode => array.asScala.toSeq
      case row              => Seq(row)
    }
  }

  override protected def serve(exchange: HttpExchange): Unit = {
    val headers = exchange.getRequestHeaders
    val request = Received(
      exchange.getRequestMethod,
      exchange.getRequestURI.toString,
      Option(headers.getFirst("Idempotency-Key")),
      headers.getFirst("Content-Type"),
      new String(exchange.getRequestBody.readAllBytes(), UTF_8)
    )
    all.add(request)
    val told = intercept(request).getOrElse(settle(request))
    val bytes = told.body.getBytes(UTF_8)
    exchange.sendResponseHeaders(told.status, if (bytes.isEmpty) -1L else bytes.length.toLong)
    exchange.getResponseBody.write(bytes)
  }

  private def settle(request: Received): Answer = request.key.filter(_ => honours) match {
    case None => apply(request)
    case Some(key) =>
      val (body, first) = stored.computeIfAbsent(key, _ => (request.body, apply(request)))
      if (body == request.body) first else Answer(422, "the key was used for another body")
  }

  private def apply(request: Received): Answer = {
    val told = answer(request)
    if (told.status < 300) rows(request).filter(_.has("id")).foreach(row => ids.add(row.get("id").longValue))
    told
  }
}

object OrdersApi {
  def using[A](honours: Boolean = true)(body: OrdersApi => A): A = {
    val api = new OrdersApi(honours)
    try body(api)
    finally api.close()
  }
}
