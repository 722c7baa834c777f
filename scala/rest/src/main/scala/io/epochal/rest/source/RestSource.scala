package io.epochal.rest.source

import java.time.Clock

import org.apache.spark.sql.connector.read.PartitionReaderFactory

import io.epochal.core.error.{Conditions, EpochalException, Plural, Redaction}
import io.epochal.core.limit.ReadLimit
import io.epochal.kit.record.RecordReading
import io.epochal.kit.source.journal.{FeedRows, JournalledSource}
import io.epochal.kit.source.{InitialOffset, PollBudgets, PositionCodec, Source, Supply}
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging._
import io.epochal.rest.source.supply.{RestReceiver, RestSupply}

/** The driver's part of a stream: the identity of an API, its offsets, and a supply of its records ([[RestSupply]]).
  *
  * The position in the stream is the number of delivered records. A replay requests the same records again, or reads
  * them from the journal in the checkpoint.
  *
  * Not guaranteed without a journal: that a replay has the same records. The API must only ever append records to its
  * list, and never change, sort or remove earlier ones; records that it removes from the end are detected (DATA_LOSS).
  */
private[rest] class RestSource private (
    options: RestOptions,
    counters: HttpCounters,
    codec: PositionCodec[RestPosition],
    override val polls: PollBudgets,
    override val supply: Supply[RestPosition],
    readers: => PartitionReaderFactory
) extends Source[RestPosition] {

  override def name: String = s"${RestOptions.Format}[${options.source}]"

  override def limit: ReadLimit = options.limit

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  override def first: RestPosition = RestPosition(0)

  override def toJson(position: RestPosition): String = codec.toJson(position)

  override def fromJson(json: String): Either[EpochalException, RestPosition] = codec.fromJson(json)

  override lazy val readerFactory: PartitionReaderFactory = readers

  /** Counts of driver and tasks. */
  override def received: Option[String] = {
    val counts = counters.value
    val retries = if (counts.retries > 0) s", ${counts.retries} of them repeated" else ""
    Some(s"${Plural.of(counts.requests, "request")}$retries, ${Plural.of(counts.bytes, "byte")}")
  }

  override def metrics(rowsBehind: Option[Long]): Map[String, String] = {
    val counts = counters.value
    Map(
      "server" -> options.endpoint.base.toString,
      "pages" -> counts.pages.toString,
      "requests" -> counts.requests.toString,
      "retries" -> counts.retries.toString,
      "throttled" -> counts.throttled.toString,
      "waitedMillis" -> counts.waitedMillis.toString,
      "bytes" -> counts.bytes.toString,
      "malformed" -> counts.malformed.toString
    )
  }
}

private[rest] object RestSource {

  /** @param tasks
    *   maximum partitions if `numPartitions` is not set
    */
  def of(
      options: RestOptions,
      reading: RecordReading,
      checkpoint: InitialOffset,
      tasks: => Int,
      clock: Clock,
      counters: HttpCounters): Source[RestPosition] = {
    val journal = checkpoint.beside("journal")
    val (codec, polls) = (new Codec(options), new PollBudgets(options.refresh.bounds))
    val supplies = new RestSupply(counters, tasks, clock, polls)
    // Tasks get the settings of the checkpoint's file system only if records are or were journalled.
    def kept = Option.when(options.journal || journal.names().nonEmpty)(journal)
    def readers = new RestReaderFactory(options.alone, reading, counters, kept)
    if (options.followed) {
      val rows = new RestFeedRows(options.alone, reading, counters, journal)
      val receiver = supplies.received(options, journal, codec)
      new RestSource(options, counters, codec, polls, receiver, readers) with JournalledSource[RestPosition] {
        override protected def journalled: RestReceiver = receiver
        override protected def feedRows: FeedRows = rows
      }
    } else new RestSource(options, counters, codec, polls, supplies.of(options, journal), readers)
  }

  /** The JSON form of positions. */
  final private class Codec(options: RestOptions) extends PositionCodec[RestPosition] {

    override def toJson(position: RestPosition): String = RestOffset.toJson(options.source, position)

    override def fromJson(json: String): Either[EpochalException, RestPosition] =
      RestOffset.fromJson(options.source, json).flatMap(ofPaging(json, _))

    /** Rejects an offset of another pagination, independently of `sourceId`: the pagination determines how records are
      * counted.
      */
    private def ofPaging(json: String, position: RestPosition): Either[EpochalException, RestPosition] = {
      def fitting(one: RestPosition): Boolean = {
        val follows = one.journal.exists(_.next.nonEmpty)
        options.paging match {
          case _: TimeWindow if follows =>
            one.journal.flatMap(_.next).flatMap(_.token).exists(WindowPosition.parse(_).nonEmpty)
          case _: ChainedPagination => follows || one.isFirst
          case _                    => !follows
        }
      }
      val fits = position == RestPosition(0) ||
        (if (options.fanOut.isEmpty) position.members.isEmpty && fitting(position)
         else position.members.nonEmpty && position.members.values.forall(fitting))
      Either.cond(
        fits,
        position,
        Conditions
          .OffsetInvalid("format" -> RestOptions.Format, "offset" -> Redaction.text(json.take(300)), "reason" -> s"it was not written with {option:pagination=${options.paging.kind}}${options.fanOut.fold("")(_ => " and {option:partitionParams}")}"))
    }
  }
}
