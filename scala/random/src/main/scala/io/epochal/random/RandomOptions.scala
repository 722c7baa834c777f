package io.epochal.random

import java.time.{Duration, Instant}

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionList, OptionType, OptionValues, SourceOptions}
import io.epochal.kit.source.ReadLimits

/** Validated options of a query.
  *
  * @param rowsPerBatch
  *   if set, all rows exist from the start, and each micro-batch delivers so many; if not, row n exists from n / rate seconds after the
  *   first start of the query
  * @param rowsPerSecond
  *   the rate; the rows of a batch span one second of the column `timestamp`, too
  * @param numPartitions
  *   None: Spark's default parallelism
  * @param startTimestamp
  *   None: the default of the release in which the query first started
  * @param source
  *   the source identity that is stored in offsets: the options that determine rows
  * @param firstSource
  *   the identity in offsets without the timestamp of row 0: those of the first release, and of queries whose options set it
  * @param eventTimeColumn
  *   None: no event time
  */
final case class RandomOptions(
    rowsPerBatch: Option[Long],
    rowsPerSecond: Long,
    numPartitions: Option[Int],
    strings: RandomStrings,
    maxRows: Option[Long],
    startTimestamp: Option[Instant],
    @transient limit: ReadLimit,
    source: String,
    firstSource: String,
    eventTimeColumn: Option[String] = None) {

  /** The position before the first row, for a query that first starts at `startedAt`. */
  def begin(startedAt: Long): RandomPosition = {
    val unset = Option.when(startTimestamp.isEmpty)(RandomOptions.DefaultStart)
    RandomPosition(0, startedAt, rowZero = unset.map(RandomOptions.micros))
  }

  def toJson(position: RandomPosition): String =
    RandomOffset.toJson(if (position.rowZero.isEmpty) firstSource else source, position)

  def fromJson(json: String): Either[EpochalException, RandomPosition] =
    RandomOffset.fromJson(source, json).left.flatMap { error =>
      RandomOffset.fromJson(firstSource, json).toOption.filter(_.rowZero.isEmpty).toRight(error)
    }

  /** Timestamp of row 0, in microseconds since 1970. */
  def rowZero(position: RandomPosition): Long =
    position.rowZero.getOrElse(startTimestamp.fold(0L)(RandomOptions.micros))

  /** Microseconds between two rows. */
  def microsPerRow: Double = 1e6 / rowsPerSecond
}

object RandomOptions extends OptionList {
  val Format = "epochal-random"

  /** After Spark's first watermark, 1970-01-01: a row with exactly that time would be late. */
  private val DefaultStart = Instant.parse("2000-01-01T00:00:00Z")

  val RowsPerSecond = option("rowsPerSecond", OptionType.long(1), Some(10L))("Rows that become available per second.")
  val RowsPerBatch = option("rowsPerBatch", OptionType.long(1))("Rows in each micro-batch, instead of rowsPerSecond.")
  val NumPartitions =
    option("numPartitions", OptionType.int(1))("Partitions per batch. Unset: Spark's default parallelism.")
  val Seed = option("seed", OptionType.long(), Some(0L))("Seed of the strings.")
  val MinLength = option("minLength", OptionType.int(0, 1 << 20), Some(0))("Minimum length of a string.")
  val MaxLength = option("maxLength", OptionType.int(0, 1 << 20), Some(5))("Maximum length of a string.")
  val Alphabet = option("alphabet", OptionType.string, Some("abcdefghijklmnopqrstuvwxyz"))(
    "Characters to draw from; a repeated one is drawn more often.")
  val MaxRows = option("maxRows", OptionType.long(0))("Total rows; the stream then idles. Unset: endless.")
  val StartTimestamp = option("startTimestamp", OptionType.instant)(
    s"Timestamp of row 0; the others follow at the rate. Unset: $DefaultStart, or the query's first one.")

  val group: OptionGroup = OptionGroup(
    Format,
    "Random strings with a stable replay. Batch, micro-batch, continuous and real-time reads.",
    all ++ SourceOptions.all)

  def read(raw: Map[String, String]): Either[EpochalException, RandomOptions] =
    for {
      values <- group.parse(raw)
      _ <- values.exclusive(
        "Give {option:rowsPerSecond} for a steady rate, or {option:rowsPerBatch} for batches of one size.")(
        RowsPerSecond,
        RowsPerBatch)
      _ <- values.consistent(values(MinLength) <= values(MaxLength))(
        s"{option:minLength=${values(MinLength)}}, {option:maxLength=${values(MaxLength)}}",
        "Make {option:minLength} the smaller one.")
    } yield RandomOptions(
      values.get(RowsPerBatch),
      rate(values),
      values.get(NumPartitions),
      RandomStrings(values(Seed), values(MinLength), values(MaxLength), values(Alphabet)),
      values.get(MaxRows),
      values.get(StartTimestamp),
      ReadLimits.of(values, values.get(RowsPerBatch).map(ReadLimit.maxRows(_))),
      values.get(SourceOptions.SourceId).getOrElse(identity(values, DefaultStart)),
      values.get(SourceOptions.SourceId).getOrElse(identity(values, Instant.EPOCH)),
      values.get(SourceOptions.EventTimeColumn)
    )

  private def rate(values: OptionValues): Long = values.get(RowsPerBatch).getOrElse(values(RowsPerSecond))

  private def micros(instant: Instant): Long = instant.getEpochSecond * 1000000L + instant.getNano / 1000

  /** The options that determine rows. The rate is one of them because of the timestamps. */
  private def identity(values: OptionValues, start: Instant): String =
    s"seed=${values(Seed)} length=${values(MinLength)}..${values(MaxLength)} alphabet=${values(Alphabet)} " +
      s"timestamps=${values.get(StartTimestamp).getOrElse(start)}+${Duration.ofSeconds(1)}/${rate(values)}"
}
