package io.epochal.rest.source

import java.time.Instant
import java.util.Arrays

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.hash.Sha256
import io.epochal.kit.json.Json
import io.epochal.kit.record.RecordBlock

/** The position of one list under [[Since]]: the least value of this pass and of the next one, and the versions of records
  * that either may return again. A version is a key and a content; a record is delivered if its content is not the last
  * one delivered for its key. Not thread-safe.
  *
  * Versions of this pass below the next one's least value are dropped, so that a pass through a sorted list holds few of
  * them. If an API returns such a record on two pages of a pass, it is delivered twice.
  *
  * It holds about 250 bytes for each version.
  */
final private[rest] class SinceVersions(since: Since) {
  import SinceVersions._

  private var from = since.first
  private var next = from

  /** Versions of earlier passes that this pass may return, by key. */
  private var before = Map.empty[String, Version]
  private var now = Map.empty[String, Version]

  /** The keys whose versions are not in the log yet. */
  private var keysToLog = Set.empty[String]

  /** Number of this pass's versions at which those that are not needed are dropped. */
  private var full = Least
  private var warned = false

  private var passStart = Instant.MAX

  def begin(now: Instant): Unit = passStart = now

  def passRequests(list: ListRequests): ListRequests = since.passRequests(list, from)

  /** The records of a block that were not delivered; None if there are none.
    *
    * @param first
    *   the number in its page of the first record
    * @throws EpochalException
    *   SINCE_VALUE_INVALID
    */
  def fresh(block: RecordBlock, first: Int, list: ListRequests): Option[RecordBlock] = {
    var index = first
    RecordArray.select(block)(_.skipChildren(): Unit) { (from, until) =>
      val bytes = Arrays.copyOfRange(block.bytes, from, until)
      val record = mapper.readTree(bytes)
      val value = valueOf(record, index, list)
      val key = Sha256.hex(keyOf(list, index, record), 16)
      index += 1
      isFresh(value, key, bytes, list)
    }
  }

  /** Takes the value of a record whose versions do not matter.
    *
    * @param index
    *   its number in its page
    * @throws EpochalException
    *   SINCE_VALUE_INVALID
    */
  def pass(record: JsonNode, index: Int, list: ListRequests): Unit = reach(valueOf(record, index, list))

  /** Ends the pass. @return whether the next pass makes another request */
  def end(): Boolean = {
    val moved = from != next
    from = next
    before = (before ++ now).filter(isHeld)
    now = Map.empty
    full = Least
    keysToLog = keysToLog.filter(before.contains)
    moved
  }

  /** Writes the versions that are not logged yet, or all. */
  def write(fields: ObjectNode, whole: Boolean): Unit = {
    from.foreach(value => fields.put("from", value.logText))
    next.foreach(value => fields.put("next", value.logText))
    fields.put("begun", passStart.toString)
    val versions = fields.putArray("versions")
    for (key <- if (whole) before.keySet ++ now.keySet else keysToLog; version <- last(key))
      versions.add(s"$key ${version.content} ${version.value.logText}")
  }

  /** The log has all versions now. */
  def markLogged(): Unit = keysToLog = Set.empty

  /** Adds the versions of a log entry. */
  def restore(fields: JsonNode): Unit = {
    def value(name: String) = Option(fields.get(name)).map(text => SinceValue.parse(text.asText))
    from = value("from").orElse(from)
    next = value("next").orElse(next)
    Option(fields.get("begun")).foreach(moment => passStart = Instant.parse(moment.asText))
    val versions = fields.path("versions").elements().asScala.map(_.asText.split(" ", 3)).map {
      case Array(key, content, value) => key -> Version(content, SinceValue.parse(value))
      case other                      => throw new IllegalArgumentException(s"not a version: ${other.mkString(" ")}")
    }
    before = (before ++ versions).filter { case (_, version) => from.forall(least => !(version.value < least)) }
  }

  private def isFresh(value: SinceValue, key: String, bytes: Array[Byte], list: ListRequests): Boolean =
    if (from.exists(value < _)) {
      if (!warned && from.map(since.least).exists(value < _)) {
        warned = true
        log.warn(
          s"${list.endpoint} returns records with a lower value at '${since.field}' than the request has. " +
            s"They are skipped: the API may ignore ${since.param.fold("the value in the body")(name =>
                s"the parameter '$name'")}.")
      }
      false
    } else {
      reach(value)
      val version = Version(Sha256.hex(bytes, 8), value)
      val isNew = !last(key).exists(_.content == version.content)
      if (isNew) {
        now += key -> version
        keysToLog += key
        if (now.size >= full) {
          now = now.filter(isHeld)
          keysToLog = keysToLog.filter(key => now.contains(key) || before.contains(key))
          full = math.max(Least, 2 * now.size)
        }
      }
      isNew
    }

  /** Raises the least value of the next pass. */
  private def reach(value: SinceValue): Unit = {
    val bound = since.bound(value, passStart)
    if (next.forall(_ < bound)) next = Some(bound)
  }

  private def valueOf(record: JsonNode, index: Int, list: ListRequests): SinceValue =
    since.read(record, next).getOrElse(throw invalid(list, index, record, since.field, since.acceptedValues))

  /** The last delivered version of a key, if it is held. */
  private def last(key: String): Option[Version] = now.get(key).orElse(before.get(key))

  /** Whether the next pass may return a version. */
  private def isHeld(one: (String, Version)): Boolean = next.forall(least => !(one._2.value < least))

  private def keyOf(list: ListRequests, index: Int, record: JsonNode): String = since.keys
    .map { name =>
      val value = record.path(name)
      if (value.isMissingNode || value.isNull)
        throw invalid(
          list,
          index,
          record,
          s"/${name.replace("~", "~0").replace("/", "~1")}",
          "a value of {option:keyColumns}")
      value.toString
    }
    .mkString(",")

  private def invalid(
      list: ListRequests,
      index: Int,
      record: JsonNode,
      pointer: String,
      requirement: String): EpochalException = {
    val node = record.at(pointer)
    Conditions.SinceValueInvalid(
      "index" -> index,
      "url" -> list.endpoint,
      "found" -> (if (node.isMissingNode || node.isNull) "no value"
                  else if (node.isContainerNode) s"an ${node.getNodeType}"
                  else s"'${node.asText.take(100)}'"),
      "pointer" -> pointer,
      "expected" -> requirement
    )
  }
}

private[rest] object SinceVersions {
  private val log = LoggerFactory.getLogger(classOf[SinceVersions])
  private val mapper = new ObjectMapper(Json.trees).enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)

  /** Versions below which none are dropped within a pass. */
  private val Least = 1000

  /** @param content
    *   a hash of the record as received
    */
  final private case class Version(content: String, value: SinceValue)
}
