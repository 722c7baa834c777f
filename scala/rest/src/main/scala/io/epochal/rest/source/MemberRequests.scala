package io.epochal.rest.source

import java.time.Clock
import java.util.concurrent.ExecutorService
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.json.Json
import io.epochal.kit.record.Body
import io.epochal.rest.http.{HttpClient, HttpCounters}

/** Requests the lists of a [[Lineage]], for the polls of a stream or for a batch. Thread-safe.
  *
  * @param connections
  *   lists that are requested at a time
  */
final private[rest] class MemberRequests(
    val lineage: Lineage,
    val counters: HttpCounters,
    val clock: Clock,
    val connections: Int)
    extends AutoCloseable {
  private val pageSizes = lineage.levels.map(_ => new AtomicLong)
  private val contacted = new AtomicBoolean
  private val keys = lineage.levels.flatMap(_.keys).toSet
  private val mapper = new ObjectMapper(Json.trees)

  private var clients = IndexedSeq.empty[HttpClient]

  val threads: ExecutorService = PageFetch.threads

  /** A reader of a list, which has begun a poll.
    *
    * @param level
    *   the index of the list's level
    * @param endedBefore
    *   whether an earlier pass through the list has found its end
    */
  def reader(
      level: Int,
      list: ListRequests,
      start: ChainState = ChainState(),
      endedBefore: Boolean = false): ListReader = {
    val chain = new PageChain(list, lineage.levels(level).pagination, endedBefore = endedBefore)
    val reader = new ListReader(chain, client(level, list), start, contacted, pageSizes(level))
    reader.begin(clock.instant(), again = true)
    reader
  }

  override def close(): Unit = synchronized {
    clients.foreach(_.close())
    clients = IndexedSeq.empty
  }

  /** The lists of a level have one server, and one client. */
  private def client(level: Int, list: ListRequests): HttpClient = synchronized {
    if (clients.isEmpty) clients = lineage.levels.map(one => new HttpClient(one.template.requests.http, counters))
    clients(level).at(list.endpoint)
  }

  /** The lists that the records of a page name: the values of their names.
    *
    * @param each
    *   receives each record, and its number in the page
    */
  def children(level: Int, list: ListRequests, page: Page, params: Map[String, String])(
      each: (JsonNode, Int) => Unit): Seq[Map[String, String]] = {
    val fields = lineage.levels(level).fields
    val records = list.rules.format.open(page.body, list.place)
    Iterator
      .continually(records)
      .takeWhile(_.next())
      .zipWithIndex
      .map { case (record, index) =>
        record.pass()
        val whole = mapper.readTree(record.bytes)
        each(whole, index)
        params ++ fields.flatMap { case (name, pointer) =>
          value(list, name, pointer, whole.at(pointer)).map(name -> _)
        }
      }
      .toVector
  }

  /** Whether a list is gone: an address within it that does not exist may also have expired. */
  def isGone(level: Int, list: ListRequests, token: Option[String], error: EpochalException): Boolean =
    isSkipped(error) && (token.isEmpty || goneError(level, list).nonEmpty)

  /** Requests the first page of a list; the error, if the list is gone. */
  def goneError(level: Int, list: ListRequests): Option[EpochalException] =
    Using.resource(Body.ofPage()) { body =>
      val first = list.pageCall.of(list.endpoint, lineage.levels(level).pagination, None)
      try client(level, list).call(first, body)(_ => None)
      catch { case error: EpochalException if isSkipped(error) => Some(error) }
    }

  private def isSkipped(error: EpochalException): Boolean =
    MissingPage.reportedBy(error) && lineage.leaf.template.skipsGone && !lineage.isAlone

  private def value(list: ListRequests, name: String, pointer: String, node: JsonNode): Option[String] = {
    def isUsable =
      !node.asText.exists(_ == MemberTable.Separator) && (!keys(name) || !Unusable(node.asText)) &&
        !node.asText.contains("${")
    if (node.isValueNode && !node.isNull && isUsable) Some(node.asText)
    else if (!keys(name) && (node.isNull || node.isMissingNode)) None
    else {
      val what =
        if (node.isMissingNode) "no value"
        else if (node.isContainerNode) s"an ${node.getNodeType}"
        else s"'${node.asText.take(100)}'"
      throw Conditions.ParentFieldInvalid(
        "url" -> list.endpoint,
        "found" -> what,
        "pointer" -> pointer,
        "name" -> s"$${$name}")
    }
  }

  /** As a segment of a path these lead to another address. */
  private val Unusable = Set("", ".", "..")
}
