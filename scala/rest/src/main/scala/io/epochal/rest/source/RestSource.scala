package io.epochal.rest.source

import java.time.Clock

import org.apache.spark.sql.connector.read.PartitionReaderFactory

import io.epochal.core.error.{Conditions, EpochalException, Plural, Redaction}
import io.epochal.core.limit.ReadLimit
import io.epochal.kit.record.RecordReading
import io.epochal.kit.source.journal.{FeedRows, JournalledSource}
import io.epochal.kit.source.{InitialOffset, PollBudgets, Source, Supply}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging.{
  ChainedPagination,
  RestOffset,
  RestOptions,
  RestPosition,
  TimeWindow,
  WindowPosition
}
import io.epochal.rest.source.supply.{RestReceiver, RestSupply}

/** The driver's part: how an API is told from others, and by a [[RestSupply]] what it has.
  *
  * The position in the stream is the number of records delivered. A replay asks for the same records again, or reads them from
  * the journal in the checkpoint.
  *
  * Not guaranteed, without a journal: that an API gives the same records again. It must only ever add records at the end of its
  * list, and never change, sort or remove earlier ones; what it removes from the end is noticed (DATA_LOSS), the rest is not.
  *
  * @param defaultPartitions
  *   partitions where the options name no number
  */
private[rest] class RestSource(
    options: RestOptions,
    reading: RecordReading,
    checkpoint: InitialOffset,
    defaultPartitions: => Int,
    clock: Clock,
    counters: HttpCounters
) extends Source[RestPosition] {

  final protected val journal: HadoopFileStore = checkpoint.beside("journal")

  override def name: String = s"${RestOptions.Format}[${options.source}]"

  override def limit: ReadLimit = options.limit

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  override def first: RestPosition = RestPosition(0)

  override def toJson(position: RestPosition): String = RestOffset.toJson(options.source, position)

  override def fromJson(json: String): Either[EpochalException, RestPosition] =
    RestOffset.fromJson(options.source, json).flatMap(ofPaging(json, _))

  override val polls: PollBudgets = new PollBudgets(options.refresh.bounds)

  override val supply: Supply[RestPosition] =
    RestSupply.of(options, journal, counters, defaultPartitions, clock, polls, this)

  /** Where nothing is journalled, or was, tasks are spared the settings of the checkpoint's file system. */
  override lazy val readerFactory: PartitionReaderFactory = {
    val journalled = options.journal || journal.names().nonEmpty
    new RestReaderFactory(options.alone, reading, counters, Option.when(journalled)(journal))
  }

  /** Of driver and tasks. */
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

  /** Records that were counted in one kind of pagination are not those of another, under whatever `sourceId`. */
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
        .OffsetInvalid("format" -> RestOptions.Format, "offset" -> Redaction.text(json.take(300)), "reason" -> s"it was not written with pagination=${options.paging.kind}${options.fanOut.fold("")(_ => " and partitionParams")}"))
  }
}

/** The same where pages are received into the journal: continuous and real-time queries follow its end. */
final private[rest] class FollowedRestSource(
    options: RestOptions,
    reading: RecordReading,
    checkpoint: InitialOffset,
    defaultPartitions: => Int,
    clock: Clock,
    counters: HttpCounters
) extends RestSource(options, reading, checkpoint, defaultPartitions, clock, counters)
    with JournalledSource[RestPosition] {

  override protected val journalled: RestReceiver = RestSupply.receiver(supply).get

  override protected def feedRows: FeedRows = new RestFeedRows(options.alone, reading, counters, journal)
}
