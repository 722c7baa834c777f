package io.epochal.rest.sink

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ArrayNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** A received request. */
final case class Received(method: String, path: String, key: Option[String], contentType: String, body: String)

final case class Answer(status: Int, body: String = "", headers: Seq[(String, String)] = Nil)

/** Stub API that accepts rows with an `id`: single, as an array or as lines.
  *
  * @param honours
  *   whether a repeated idempotency key gets the first response and is not applied again. With another body it gets 422, as in the
  *   IETF's draft
  */
final class OrdersApi(honours: Boolean) extends StubServer("/orders") {

  /** Response to a request that is not a repetition. The request is applied if the status is below 300. */
  @volatile var answer: Received => Answer = _ => Answer(201, "{}")

  /** Called first with each request. A result is sent as it is, and the request is not applied. */
  @volatile var intercept: Received => Option[Answer] = _ => None

  private val mapper = new ObjectMapper
  private val all = new ConcurrentLinkedQueue[Received]
  private val ids = new ConcurrentLinkedQueue[Long]
  private val stored = new ConcurrentHashMap[String, (String, Answer)]

  /** All requests so far. */
  def requests: Seq[Received] = all.asScala.toSeq

  def keys: Seq[String] = requests.flatMap(_.key)

  /** Ids of applied rows, with repetitions, ascending. */
  def applied: Seq[Long] = ids.asScala.toSeq.sorted

  def forget(): Unit = all.clear()

  /** Rows of a request. */
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
    val reply = intercept(request).getOrElse(settle(request))
    val bytes = reply.body.getBytes(UTF_8)
    reply.headers.foreach { case (name, value) => exchange.getResponseHeaders.add(name, value) }
    exchange.sendResponseHeaders(reply.status, if (bytes.isEmpty) -1L else bytes.length.toLong)
    exchange.getResponseBody.write(bytes)
  }

  private def settle(request: Received): Answer = request.key.filter(_ => honours) match {
    case None => apply(request)
    case Some(key) =>
      val (body, first) = stored.computeIfAbsent(key, _ => (request.body, apply(request)))
      if (body == request.body) first else Answer(422, "the key was used for another body")
  }

  private def apply(request: Received): Answer = {
    val reply = answer(request)
    if (reply.status < 300) rows(request).filter(_.has("id")).foreach(row => ids.add(row.get("id").longValue))
    reply
  }
}

object OrdersApi {
  def using[A](honours: Boolean = true)(body: OrdersApi => A): A = {
    val api = new OrdersApi(honours)
    try body(api)
    finally api.close()
  }
}
