package io.epochal.kit.source.journal

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.NoSuchFileException
import java.util.zip.CRC32
import java.util.{HexFormat, Locale, UUID}

import scala.annotation.tailrec
import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{FileStore, Generation, Segment}
import io.epochal.kit.store.HadoopFileStore

/** Logs what a [[JournalFeed]] has received, in a file beside its segments. The log counts before an offset names the segments:
  * rows may have been delivered from them, so a restart delivers the same rows from the log instead of requesting them again.
  *
  *   - '''F1''' A file is written once, and its checksum proves that it is complete. It names segments that were sealed before
  *     (J3).
  *   - '''F2''' Received rows are delivered only after the file that names them was written, and its generation was then seen
  *     to be the highest: by the run itself for tasks in its JVM, by each other task for itself. Positions cover only rows that
  *     the run knows.
  *   - '''F3''' A run first claims a generation, and then reads the newest file: of the highest generation, the one with the
  *     highest number. A run that begins a feed first writes a file of its own with what it took over.
  *
  * So the successor of a frozen run knows all rows that the run delivers when it wakes up: the argument of
  * [[io.epochal.core.journal.acknowledged.AcknowledgedJournal]].
  *
  * @param store
  *   the journal's directory
  * @param source
  *   the identity that offsets carry
  */
final class FeedLog(store: HadoopFileStore, source: String) {
  private val generations = FeedLog.generations(store)
  private val run = UUID.randomUUID().toString.replace("-", "")
  private var generation = Option.empty[Generation]
  private var number = 0
  private var written = Option.empty[String]

  /** Takes over what the feed of an earlier run has received; that feed receives nothing more from now on. None if there never
    * was one.
    */
  def takeOver(): Option[Received] = {
    if (generation.isEmpty && generations.names().nonEmpty) claim()
    generation.flatMap(_ => FeedLog.newest(store, source)).map(_._2)
  }

  /** Whether no other run has begun since. */
  def isOwn: Boolean = generation.fold(generations.names().isEmpty)(_.isOwn)

  /** Claims a generation. A run that begins a feed calls it before it reads what it takes over. */
  def claim(): Unit = if (generation.isEmpty) {
    val highest = store.names().flatMap(FeedLog.parse).map(_._1).maxOption.getOrElse(0L)
    generation = Some(Generation.claim(generations, run, highest)((_, _) => ()))
  }

  /** Writes a file with what was received.
    *
    * @return
    *   whether it may be delivered; false: another run has taken over
    */
  def write(received: Received): Boolean = generation.exists { own =>
    number += 1
    val name = FeedLog.name(own.number, number)
    val bytes = FeedLog.bytes(source, received)
    Using.resource(store.create(name)) { file =>
      file.write(bytes, 0, bytes.length)
      file.sync()
    }
    val isOwn = own.isOwn
    if (isOwn) {
      if (number == 1) sweep(own.number)
      written.foreach(old => Try(store.delete(old)))
      written = Some(name)
    }
    isOwn
  }

  /** Removes the files of earlier runs. */
  private def sweep(own: Long): Unit =
    store.names().filter(FeedLog.parse(_).exists(_._1 < own)).foreach(old => Try(store.delete(old)))
}

private[journal] object FeedLog {
  private val Version = 1
  private val Name = "(\\d{19})-(\\d{10})[.]feed".r
  private val CrcDigits = 8

  /** The number of listings after which older files count: some stores list deleted files for a while. */
  private val Listings = 10
  private val mapper = new ObjectMapper

  /** The directory of the generations of a journal's feeds, and of nothing else. */
  def generations(store: HadoopFileStore): FileStore = store.below("runs")

  /** The newest complete file, and its generation. A file that is missing after it was listed was replaced by a later one: the
    * files are listed again.
    */
  @tailrec
  def newest(store: FileStore, source: String, listings: Int = Listings): Option[(Long, Received)] = {
    var isStale = false
    val found = store
      .names()
      .flatMap(name => parse(name).map(_ -> name))
      .sorted
      .reverseIterator
      .flatMap { case ((generation, _), name) =>
        try read(store, name, source).map(generation -> _)
        catch {
          case _: NoSuchFileException =>
            isStale = true
            None
        }
      }
      .nextOption()
    if (isStale && listings > 1) newest(store, source, listings - 1) else found
  }

  private def name(generation: Long, number: Int): String =
    s"${"%019d".formatLocal(Locale.ROOT, generation)}-${"%010d".formatLocal(Locale.ROOT, number)}.feed"

  private def parse(name: String): Option[(Long, Int)] = name match {
    case Name(generation, number) => generation.toLongOption.zip(number.toIntOption)
    case _                        => None
  }

  private def bytes(source: String, received: Received): Array[Byte] = {
    val fields = mapper.createObjectNode()
    fields.put("v", Version).put("source", source)
    fields.set[JsonNode]("end", mapper.readTree(received.end))
    received.failure.foreach(fields.put("failed", _))
    Segment.writeAll(received.segments, fields)
    val text = mapper.writeValueAsString(fields)
    s"$text${crc(text)}".getBytes(UTF_8)
  }

  /** None if the file is incomplete. */
  private def read(store: FileStore, name: String, source: String): Option[Received] = {
    val whole = new String(store.content(name), UTF_8)
    val (text, sum) = whole.splitAt(whole.length - CrcDigits)
    Option.when(sum == crc(text))(mapper.readTree(text)).collect {
      case fields: ObjectNode if fields.path("source").asText == source =>
        val version = fields.path("v").asInt
        if (version > Version)
          throw Conditions.OffsetVersionUnsupported("format" -> name, "found" -> version, "supported" -> Version)
        val end = mapper.writeValueAsString(fields.get("end"))
        Received(Segment.readAll(fields), end, Option(fields.get("failed")).map(_.asText))
    }
  }

  private def crc(text: String): String = {
    val sum = new CRC32
    sum.update(text.getBytes(UTF_8))
    HexFormat.of.toHexDigits(sum.getValue.toInt)
  }
}
