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

/** What a feed has received.
  *
  * @param segments
  *   in order; the last of them ends at `end`
  * @param end
  *   the position behind them as it is logged, which names none of them: where the origin is asked next
  * @param failure
  *   why nothing more is received
  */
final case class Received(segments: Seq[Segment], end: String, failure: Option[String] = None)

/** What a [[JournalFeed]] has received, in a file beside its segments. It counts before an offset names it: rows may have been
  * delivered from it, so a restart delivers the same rows from the file instead of requesting them again.
  *
  *   - '''F1''' A file is written once, whole or not at all, as its checksum proves. It names segments that were sealed before (J3).
  *   - '''F2''' What a feed has received is delivered only after the file that says so was written, and its generation was then seen to
  *     be the highest: by the run itself for tasks in its JVM, by each other task for itself. A position is given only of rows that
  *     the run knows.
  *   - '''F3''' A run claims a generation first, and reads the newest file then: of the highest generation the one with the highest
  *     number. A run that begins a feed first writes a file of its own that says what it took over.
  *
  * So what a frozen run delivers when it wakes up was known to its successor: the argument of
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

  /** What the feed of an earlier run has received, which gets nothing more from now on; None where there never was one. */
  def takeOver(): Option[Received] = {
    if (generation.isEmpty && generations.names().nonEmpty) claim()
    generation.flatMap(_ => FeedLog.newest(store, source)).map(_._2)
  }

  /** Whether no other run has begun since. */
  def isOwn: Boolean = generation.fold(generations.names().isEmpty)(_.isOwn)

  /** Before what was taken over is read, where a feed is begun. */
  def claim(): Unit = if (generation.isEmpty) {
    val known = store.names().flatMap(FeedLog.parse).map(_._1).maxOption.getOrElse(0L)
    generation = Some(Generation.claim(generations, run, known))
  }

  /** @return
    *   whether it may be delivered; false: another run has taken over
    */
  def write(received: Received): Boolean = generation.exists { own =>
    number += 1
    val name = FeedLog.name(own.number, number)
    val bytes = FeedLog.bytes(source, received)
    val file = store.create(name)
    try {
      file.write(bytes, 0, bytes.length)
      file.sync()
    } finally file.close()
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

  /** In a store that names files for a while after they have gone, the older ones count at last. */
  private val Listings = 10
  private val mapper = new ObjectMapper

  /** Where the generations of a journal's feeds are: they alone. */
  def generations(store: HadoopFileStore): FileStore = store.below("runs")

  /** What the last of the files says that are whole, and its generation. A file that has gone since it was listed was replaced by a
    * later one: the files are listed again.
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

  /** None where the file is not whole. */
  private def read(store: FileStore, name: String, source: String): Option[Received] = {
    val whole = Using.resource(store.open(name)) { file =>
      val bytes = new Array[Byte](file.length.toInt)
      file.read(0, bytes, 0, bytes.length)
      new String(bytes, UTF_8)
    }
    val (text, sum) = whole.splitAt(whole.length - CrcDigits)
    Option.when(sum == crc(text))(mapper.readTree(text)).collect {
      case fields: ObjectNode if fields.path("source").asText == source =>
        val found = fields.path("v").asInt
        if (found > Version)
          throw Conditions.OffsetVersionUnsupported("format" -> name, "found" -> found, "supported" -> Version)
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
