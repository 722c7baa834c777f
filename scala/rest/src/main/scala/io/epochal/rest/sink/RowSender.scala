package io.epochal.rest.sink

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Locale, UUID}

import scala.collection.mutable
import scala.util.Using

import com.fasterxml.jackson.core.JsonPointer
import com.fasterxml.jackson.databind.node.MissingNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.core.retry.{Retrier, RetryEvent, Verdict}
import io.epochal.kit.json.Json
import io.epochal.kit.record.Body
import io.epochal.rest.http._
import io.epochal.rest.sink.Template.quoted

/** Sends the rows of a request until each is accepted or rejected. Belongs to one task.
  *
  * [[HttpClient]] retries failed connections, timeouts and statuses of the whole response. This class retries single
  * rows whose result is transient (they are resent alone, under a key derived from the first one), and 409 to a request
  * with a key: the server is still busy with the previous attempt. Of changes, the rows after such a row are resent with
  * it, so that none overtakes a later change of the same row.
  *
  * @param share
  *   the task's part of the query's budget
  * @param reached
  *   whether the server has responded to this query before; if not, an unreachable server is given up soon
  */
final private[rest] class RowSender(
    settings: RestSinkSettings,
    counters: HttpCounters,
    share: HttpBudget,
    reached: Boolean
) extends AutoCloseable {
  private val client = new HttpClient(settings.http, counters, share)
  private val deleting = settings.changes.flatMap(_.deletes).map(beside)
  private val upsert = settings.changes.flatMap(_.upsert)
  private val creating = upsert.map(upsert => beside(upsert.create))
  private val responses = new Body
  private val results = settings.results.map(new ResultReader(_, settings.http.retried, settings.place))
  private val keyed = settings.keyed
  private var contacted = reached

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
    * @param refused
    *   called for each rejected row, with its number in the batch, its key and the reason
    * @throws EpochalException
    *   if a row cannot be sent, or the server does not respond
    */
  def send(batch: RequestBatch, target: RowTarget, key: String)(refused: (Int, String, String) => Unit): Unit = {
    var pending = Array.range(0, batch.rows)
    var requestKey = key
    var round = 0
    def classify(error: Throwable): Verdict = error match {
      case _: RowsLeft => Verdict.Retry
      // A creation without a key may have found the row of its first attempt.
      case e: EpochalException if (keyed || creating.nonEmpty) && isBusy(e) => Verdict.Retry
      case _                                                                => Verdict.GiveUp
    }
    new Retrier(settings.http.retry, classify, repeated).run { _ =>
      val outcome = post(batch, target, requestKey, pending).zip(pending)
      outcome.foreach {
        case (RowResult.Refused(why), row) => refused(row, requestKey, why)
        case _                             => ()
      }
      val again = outcome.collect { case (RowResult.Again(why), row) => row -> why }
      pending =
        if (settings.changes.isEmpty) again.map(_._1).toArray
        else outcome.dropWhile(!isAgain(_)).collect { case (result, row) if !isRefused(result) => row }.toArray
      again.headOption.foreach { case (first, reason) =>
        round += 1
        if (keyed) requestKey = IdempotencyKey.again(key, round, pending.toSeq)
        throw new RowsLeft(first, pending.length, reason, round)
      }
    }
  }

  private def post(batch: RequestBatch, target: RowTarget, key: String, rows: Array[Int]): Seq[RowResult] = {
    val deletes = rows.map(batch.deletes).toSeq
    def request(client: HttpClient, method: String, path: String, key: String, done: Set[Int]) = {
      val body = Option.when(!target.deletes)(new HttpBody(settings.contentType, batch.body(settings.body, key, rows)))
      val call = HttpCall(
        method,
        path,
        settings.keyHeader.map(_ -> key).toSeq,
        body,
        done = done,
        repeatable = keyed || RowSender.Idempotent(method))
      sentBytes += body.fold(0)(_.bytes.length)
      val first = !contacted
      contacted = true
      client.call(call, responses, first) { response =>
        response.status -> results
          .fold(Seq.fill[RowResult](rows.length)(RowResult.Accepted))(_.read(response, responses, deletes))
      }
    }
    def create(url: RequestUrl, client: HttpClient) =
      request(client, "POST", url.template.target(target.create), IdempotencyKey.create(key), Set.empty)._2
    try
      if (target.deletes) {
        val path = settings.changes.flatMap(_.deletes).get.template.target(target.values)
        request(deleting.get, "DELETE", path, key, RowSender.Gone)._2
      } else {
        val missing = upsert.map(_.missing).toSet
        val (status, found) = request(client, settings.method, settings.url.target(target.values), key, missing)
        if (missing(status)) create(upsert.get.create, creating.get) else found
      }
    catch {
      case e: EpochalException if status(e).exists(code => settings.deadLetters.exists(_.statuses.contains(code))) =>
        val together = if (rows.length > 1) s", with ${rows.length} rows in one request" else ""
        Seq.fill(rows.length)(RowResult.Refused(s"${e.values("status")}: ${e.values("body")}$together"))
    }
  }

  override def close(): Unit = (Seq(client) ++ deleting ++ creating).foreach(_.close())

  /** The status of an unsuccessful response. */
  private def status(error: EpochalException): Option[Int] =
    Option.when(error.condition == Conditions.HttpStatus)(error.values("status").toInt)

  private def isAgain(outcome: (RowResult, Int)): Boolean = outcome._1.isInstanceOf[RowResult.Again]
  private def isRefused(result: RowResult): Boolean = result.isInstanceOf[RowResult.Refused]

  private def isBusy(error: EpochalException): Boolean = status(error).contains(409)

  private def repeated(event: RetryEvent): Unit = counters.retried(
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

/** The result of a row. */
sealed private[rest] trait RowResult

private[rest] object RowResult {
  case object Accepted extends RowResult

  /** A transient failure. */
  final case class Again(reason: String) extends RowResult
  final case class Refused(reason: String) extends RowResult
}

/** Reads the result of each row in a response. Belongs to one task.
  *
  * @param retried
  *   statuses of rows that are resent
  */
final private[rest] class ResultReader(settings: ResultSettings, retried: HttpStatuses, place: String) {
  import RowResult._

  private val mapper = new ObjectMapper(Json.trees)
  private val array = JsonPointer.compile(settings.array)
  private val status = new ResultPointer(settings.status)
  private val reason = settings.reason.map(new ResultPointer(_))

  /** @param deletes
    *   of each row sent, whether it deletes
    * @return
    *   the rows' results, in their order
    * @throws EpochalException
    *   ROW_RESULTS_INVALID
    * @throws JsonProcessingException
    *   if the body is not JSON
    */
  def read(response: ResponseHead, body: Body, deletes: Seq[Boolean]): Seq[RowResult] =
    if (body.length == 0) accepted(deletes.size)
    else {
      val rows = deletes.size
      val root = mapper.readTree(body.bytes, 0, body.length)
      val found = if (root == null) MissingNode.getInstance else root.at(array)
      if (!found.isArray)
        throw invalid(
          rows,
          s"at '${settings.array}' it has ${describe(found)}, not an array; its status is ${response.status}")
      if (found.size != rows) throw invalid(rows, s"the array at '${settings.array}' has length ${found.size}")
      (0 until rows).map(i => result(found.get(i), i, rows, deletes(i)))
    }

  private def accepted(rows: Int): Seq[RowResult] = Seq.fill(rows)(Accepted)

  private def result(entry: JsonNode, index: Int, rows: Int, deletes: Boolean): RowResult = {
    val value = status.in(entry)
    val code = Option.when(value.isIntegralNumber || value.isTextual)(value.asText).flatMap(_.toIntOption)
    if (value.isMissingNode || value.isNull || value.isContainerNode)
      throw invalid(rows, s"entry $index has ${describe(value)} at '${settings.status}'")
    else if (isSuccess(value, code) || deletes && code.exists(RowSender.Gone)) Accepted
    else if (code.exists(retried.contains)) Again(why(entry, value))
    else if (code.isDefined || value.isBoolean || settings.success.nonEmpty) Refused(why(entry, value))
    else
      throw invalid(
        rows,
        s"entry $index has '${HttpFailure.shown(value.asText)}' at '${settings.status}', which is neither a status nor true or false: list the values that mean success in {option:resultSuccess}")
  }

  private def isSuccess(value: JsonNode, code: Option[Int]): Boolean =
    if (settings.success.nonEmpty) settings.success(value.asText)
    else code.fold(value.isBoolean && value.booleanValue)(n => n >= 200 && n < 300)

  private def why(entry: JsonNode, value: JsonNode): String = {
    val text = reason.map(_.in(entry)).filterNot(node => node.isMissingNode || node.isNull).getOrElse(entry)
    s"${HttpFailure.shown(value.asText)}: ${HttpFailure.shown(if (text.isTextual) text.asText else text.toString)}"
  }

  private def describe(node: JsonNode): String =
    if (node.isMissingNode) "nothing" else node.getNodeType.toString.toLowerCase(Locale.ROOT)

  private def invalid(rows: Int, problem: String): EpochalException =
    Conditions.RowResultsInvalid("url" -> place, "rows" -> rows, "reason" -> problem)
}

/** A JSON Pointer in which `*` stands for the only field of an object, whatever its name. */
final private[rest] class ResultPointer(text: String) {
  private val parts = text.split("/\\*(?=/|$)", -1).toSeq.map(JsonPointer.compile)

  def in(entry: JsonNode): JsonNode = parts.tail.foldLeft(entry.at(parts.head)) { (node, rest) =>
    if (node.isObject && node.size == 1) node.elements.next().at(rest) else MissingNode.getInstance
  }
}

/** A row that could not be sent, or that the server rejected.
  *
  * @param row
  *   its number in the partition, from 1
  * @param key
  *   the idempotency key of its request; empty without one
  * @param json
  *   the whole row
  */
final private[rest] case class RefusedRow(partition: Int, row: Long, key: String, reason: String, json: String)

/** A task's message to the driver once each of its rows is accepted or rejected. */
final private[rest] case class RestTaskMessage(
    partition: Int,
    rows: Long,
    sentBytes: Long,
    counts: HttpCounts,
    refused: Array[RefusedRow]
) extends WriterCommitMessage

/** The rejected rows of one attempt of one task, in memory until its commit message.
  *
  * @param limit
  *   per epoch; None: the first one fails it
  */
final private[rest] class RefusedRows(limit: Option[Int], partition: Int, epoch: String, place: String) {
  private val rows = mutable.ArrayBuffer.empty[RefusedRow]
  private var chars = 0L

  /** @throws EpochalException
    *   if the row fails its epoch
    */
  def add(row: Long, key: String, reason: String, json: => String): Unit = {
    val maxRows = limit.getOrElse(throw RefusedRows.refused(partition, row, epoch, place, reason))
    rows += RefusedRow(partition, row, key, reason, json)
    chars += rows.last.json.length
    if (rows.size > maxRows) throw RefusedRows.tooMany(epoch, s"{option:maxBadRows=$maxRows}", rows.head)
    if (chars > RefusedRows.MaxChars)
      throw RefusedRows.tooMany(epoch, s"${RefusedRows.MaxChars} characters of JSON in one task", rows.head)
  }

  def result(): Array[RefusedRow] = rows.toArray
}

private[rest] object RefusedRows {

  /** Bounds the memory of the task, and of the driver, which collects all tasks' rows. */
  val MaxChars: Long = 16L << 20

  def refused(partition: Int, row: Long, epoch: String, place: String, reason: String): EpochalException =
    Conditions.RowRefused("row" -> row, "partition" -> partition, "epoch" -> epoch, "url" -> place, "reason" -> reason)

  def tooMany(epoch: String, limit: String, first: RefusedRow): EpochalException = Conditions.TooManyRefusedRows(
    "epoch" -> epoch,
    "limit" -> limit,
    "row" -> first.row,
    "partition" -> first.partition,
    "reason" -> first.reason)
}

/** Rejected rows as JSON lines: one file per epoch that has any, `<query id>-<epoch>.jsonl`.
  *
  * The driver writes the file before Spark marks the epoch as done, and a replay rewrites or removes it, so that a row
  * is there once. The file is written under a name that Spark does not read, and then renamed. A crash between the
  * removal of an old file and the renaming is followed by a replay.
  */
final private[rest] class DeadLetterFiles(path: String, hadoop: => Configuration) {

  private lazy val directory = new Path(path)
  private lazy val fs: FileSystem = directory.getFileSystem(hadoop)

  /** Creates the directory.
    *
    * @throws EpochalException
    *   DEAD_LETTERS_UNWRITABLE
    */
  def check(): Unit = guarded {
    if (!fs.mkdirs(directory)) throw new IOException("the directory cannot be made")
  }

  /** Replaces the file of an epoch with exactly these rows. */
  def replace(queryId: String, epoch: String, sink: String, rows: Iterable[RefusedRow]): Unit = guarded {
    val file = new Path(directory, s"$queryId-$epoch.jsonl")
    if (rows.isEmpty) { if (fs.exists(file)) fs.delete(file, false): Unit }
    else {
      fs.mkdirs(directory): Unit
      val unfinished = new Path(directory, s"_${file.getName}.${UUID.randomUUID()}")
      Using.resource(fs.create(unfinished, false)) { out =>
        rows.foreach(row => out.write(DeadLetterFiles.line(sink, epoch, row).getBytes(UTF_8)))
      }
      if (fs.exists(file)) fs.delete(file, false): Unit
      if (!fs.rename(unfinished, file)) throw new IOException(s"$unfinished cannot be renamed")
    }
  }

  private def guarded[A](body: => A): A =
    try body
    catch {
      case error @ (_: IOException | _: IllegalArgumentException) =>
        throw Conditions.DeadLettersUnwritable
          .because(error)("path" -> path, "reason" -> String.valueOf(error.getMessage))
    }
}

private[rest] object DeadLetterFiles {

  /** The row's own JSON is embedded as it is. */
  def line(sink: String, epoch: String, row: RefusedRow): String = {
    val key = if (row.key.isEmpty) "null" else quoted(row.key)
    s"""{"sink":${quoted(sink)},"epoch":${quoted(epoch)},"partition":${row.partition},"row":${row.row},"key":$key,""" +
      s""""reason":${quoted(row.reason)},"value":${row.json}}\n"""
  }
}
