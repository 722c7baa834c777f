package io.epochal.testkit

import java.util.Optional

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.connector.read.streaming._

import io.epochal.core.error.{Condition, Conditions}
import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.report.{Check, Evidence}

/** Checks of a stream, without a query. */
private[testkit] object StreamChecks {
  private type Checks = Stage[SourceFixture, StreamScene]

  private val Version = "\"(?:v|version)\"\\s*:\\s*\"?(\\d+)".r
  private val Future = "4711"
  // An end that follows a clock moves within a second, for any clock resolution.
  private val ClockMillis = 1200L
  private val Looks = 4
  private val Hour = 3600000L
  private val Batches = 100

  /** @param isRefusal
    *   whether an error is a refusal with a condition
    */
  def of(
      newFixture: () => SourceFixture,
      isRefusal: SourceFixture => (Throwable, Condition) => Boolean = _.reports): Seq[Check] = {
    val stage = new Stage(newFixture)(fixture => new StreamScene(fixture, isRefusal(fixture)))
    offsets(stage) ++ plans(stage) ++ limits(stage)
  }

  /** Offsets: JSON with a version field (`"v"` or `"version"`) and the identity of the source. */
  private def offsets(stage: Checks): Seq[Check] = Seq(
    stage.check(OffsetRoundTrip) { scene =>
      val (stream, start, end) = scene.begin(7)
      Seq(start, end).foreach { offset =>
        val again = stream.deserializeOffset(offset.json)
        Evidence.equal("the JSON of an offset that was read from JSON", again.json, offset.json)
        Evidence.unless(again == offset)(s"the offset read from ${offset.json} does not equal the one that was written")
      }
    },
    stage.check(FutureVersion) { scene =>
      val (stream, _, end) = scene.begin(7)
      val refusal =
        Version.findFirstMatchIn(end.json).getOrElse(Evidence.broken(s"an offset names no version: ${end.json}"))
      val version = BigInt(refusal.group(1))
      val later = end.json.substring(0, refusal.start(1)) + Future + end.json.substring(refusal.end(1))
      val error = scene.refused(Conditions.OffsetVersionUnsupported, s"the offset $later") {
        stream.deserializeOffset(later)
      }
      // The newest supported version; an offset may have been written in an older one.
      val numbers = "\\d+".r.findAllIn(Evidence.text(error)).map(BigInt(_)).toSet
      Evidence.unless(numbers(BigInt(Future)) && (numbers - BigInt(Future)).exists(_ >= version))(
        s"the error names not both versions, $Future and at least $version: ${Evidence.text(error)}")
    },
    stage.check(ForeignOffset) { scene =>
      val (stream, start, end) = scene.begin(7)
      val foreign = scene.newStreamOfAnotherSource()
      scene.refused(Conditions.SourceChanged, s"${end.json} by another source") {
        foreign.planInputPartitions(foreign.deserializeOffset(start.json), foreign.deserializeOffset(end.json))
      }
      val first = foreign.initialOffset().json
      scene.refused(Conditions.SourceChanged, s"$first, the offset of another source,")(stream.deserializeOffset(first))
    },
    stage.check(InvalidOffset) { scene =>
      val stream = scene.newStream(1)
      Seq("", "{}", "[]", "17").foreach { text =>
        scene.refused(Conditions.OffsetInvalid, s"'$text' as an offset")(stream.deserializeOffset(text))
      }
    },
    stage.check(FirstOffset) { scene =>
      val first = scene.newStream().initialOffset().json
      scene.fixture.makeAvailable(5)
      Evidence.equal("the first offset, after a restart", scene.newStream(1).initialOffset().json, first)
    },
    stage.check(EndFromOrigin) { scene =>
      val (stream, start, end) = scene.begin(3)
      (1 to Looks).foreach { _ =>
        MicroBatch.next(stream, end, scene.everything).foreach { more =>
          Evidence.broken(s"nothing was added, and the end went from ${end.json} to ${more.json}")
        }
        Thread.sleep(ClockMillis / Looks)
      }
      Evidence.sameRows("rows between two equal offsets", scene.read(stream, start, start), Nil)
    },
    stage.check(EndCounts) { scene =>
      val (stream, start, end) = scene.begin(12)
      Evidence.equal("rows before the first offset", scene.rowsBefore(stream, start), 0L)
      Evidence.equal("rows before the offset after all of them", scene.rowsBefore(stream, end), 12L)
    }
  )

  /** Plans: the rows between two offsets are always the same. */
  private def plans(stage: Checks): Seq[Check] = Seq(
    stage.check(IdempotentPlan) { scene =>
      val (stream, start, end) = scene.begin(23)
      val rows = scene.read(stream, start, end)
      Evidence.onceEach("the batch", rows, 23)
      scene.fixture.makeAvailable(9)
      Seq(1, 2, 3, 7, 40).foreach { partitions =>
        Evidence.sameRows(s"planned again with $partitions partitions", scene.replay(start, end, partitions), rows)
      }
    },
    stage.check(OnceEach) { scene =>
      val (_, rows) = deliverAll(scene, 50)
      Evidence.onceEach("all batches together", rows, 50)
    },
    stage.check(KeepsRows) { scene =>
      val (end, rows) = deliverAll(scene, 50)
      val whole = scene.newStream(1)
      val again = scene.read(whole, whole.initialOffset(), whole.deserializeOffset(end))
      Evidence.equal("all rows in one batch", again, rows)
    },
    stage.check(Commit) { scene =>
      val (stream, _, middle) = scene.begin(10)
      scene.fixture.makeAvailable(10)
      val end = scene.next(stream, middle, scene.everything)
      stream.commit(middle)
      stream.commit(middle)
      val rows = scene.read(stream, middle, end)
      Evidence.onceEach("the second batch", rows, 10)
      val again = scene.newStream(3)
      again.commit(again.deserializeOffset(middle.json))
      Evidence.sameRows("the second batch, replayed", scene.replay(middle, end, 3), rows)
    },
    stage.check(Lag) { scene =>
      scene.fixture.makeAvailable(30)
      val stream = scene.newStream()
      val end = scene.next(stream, stream.initialOffset(), ReadLimit.maxRows(10))
      stream match {
        case capable: SupportsAdmissionControl =>
          val latest = Option(capable.reportLatestOffset()).getOrElse(Evidence.broken("reportLatestOffset gives null"))
          val rows = scene.rowsBefore(stream, latest)
          Evidence.unless(rows >= 10)(s"after 10 rows were delivered, the latest offset counts $rows")
        case _ => Evidence.broken("the stream has no read limits (SupportsAdmissionControl)")
      }
      stream match {
        case reporting: ReportsSourceMetrics =>
          val none = reporting.metrics(Optional.empty[Offset]())
          Evidence.unless(none != null)("the source's metrics are null before the first batch")
          Seq(end, asLogged(end)).foreach { offset =>
            Evidence.unless(!reporting.metrics(Optional.of(offset)).isEmpty)("the source's metrics are empty")
          }
        case _ => Evidence.broken("the stream reports no metrics (ReportsSourceMetrics)")
      }
    }
  )

  /** Ends of batches: read limits and AvailableNow. */
  private def limits(stage: Checks): Seq[Check] = Seq(
    stage.check(MaxRows) { scene =>
      scene.fixture.makeAvailable(30)
      val stream = scene.newStream()
      val start = stream.initialOffset()
      Seq(1, 2, 10, 29, 30, 31, 1000).foreach { most =>
        val end = scene.next(stream, start, ReadLimit.maxRows(most.toLong))
        Evidence.equal(s"rows of a batch of at most $most", scene.read(stream, start, end).size, math.min(most, 30))
      }
    },
    stage.check(MinRows)(holdsBack(_, ReadLimit.minRows(10, Hour), more = 1, expectedRows = 10)),
    stage.check(CompositeLimit) { scene =>
      val limit = ReadLimit.compositeLimit(Array(ReadLimit.minRows(10, Hour), ReadLimit.maxRows(12)))
      holdsBack(scene, limit, more = 20, expectedRows = 12)
    },
    stage.check(AvailableNow) { scene =>
      val sizes = availableNow(scene, addedPerBatch = if (scene.fixture.endIsKnownAtStart) 0 else 5)
      if (scene.fixture.endIsKnownAtStart) Evidence.equal("sizes of the batches", sizes, Vector(10, 10, 5))
      else
        // This source sees its end only when it reads there: rows added before that belong to the run.
        Evidence.unless(sizes.take(2) == Vector(10, 10) && sizes.sum >= 25)(
          s"25 rows in batches of at most 10 came in batches of ${Evidence.shown(sizes)}")
    },
    stage.check(AvailableNowTarget) { scene =>
      Evidence.equal(
        "sizes of the batches, while 5 rows are added during each",
        availableNow(scene, addedPerBatch = 5),
        Vector(10, 10, 5))
    }
  )

  /** The offset as read from Spark's log after a restart: of another class, with only the JSON. */
  private def asLogged(offset: Offset): Offset = new Offset {
    override def json(): String = offset.json
  }

  /** Delivers all rows in batches of different sizes, each from a new driver. Returns the last offset and the rows in order. */
  private def deliverAll(scene: StreamScene, count: Int): (String, Seq[Seq[Any]]) = {
    scene.fixture.makeAvailable(count)
    val sizes = Iterator.continually(Seq(1L, 7L, 3L, 20L)).flatten
    var at = scene.newStream().initialOffset().json
    var rows = Vector.empty[Seq[Any]]
    var more = true
    while (more) {
      val stream = scene.newStream(3)
      val start = stream.deserializeOffset(at)
      val end = MicroBatch.next(stream, start, ReadLimit.maxRows(sizes.next()))
      end.foreach { offset =>
        rows ++= scene.read(stream, start, offset)
        stream.commit(start)
        at = offset.json
      }
      more = end.nonEmpty
      stream.stop()
      Evidence.unless(rows.size <= count)(s"${rows.size} rows were delivered, though there are only $count")
    }
    (at, rows)
  }

  /** Asserts that the limit holds back 9 rows, and lets `expectedRows` rows through after more were added. */
  private def holdsBack(scene: StreamScene, limit: ReadLimit, more: Int, expectedRows: Long): Unit = {
    scene.fixture.makeAvailable(9)
    val stream = scene.newStream()
    val start = stream.initialOffset()
    MicroBatch.next(stream, start, limit).foreach { end =>
      Evidence.broken(s"there are 9 rows, and $limit lets a batch through to ${end.json}")
    }
    scene.fixture.makeAvailable(more)
    Evidence.equal(s"rows under $limit", scene.rowsBefore(stream, scene.next(stream, start, limit)), expectedRows)
  }

  /** Sizes of the batches, at most 10 each, that deliver 25 rows. */
  private def availableNow(scene: StreamScene, addedPerBatch: Int): Vector[Int] = {
    scene.fixture.makeAvailable(25)
    val stream = scene.newStream()
    stream match {
      case now: SupportsTriggerAvailableNow => now.prepareForTriggerAvailableNow()
      case _ => Evidence.broken("the stream has no AvailableNow of its own (SupportsTriggerAvailableNow)")
    }
    val sizes = Iterator
      .unfold(stream.initialOffset()) { at =>
        MicroBatch.next(stream, at, ReadLimit.maxRows(10)).map { end =>
          scene.fixture.makeAvailable(addedPerBatch)
          scene.read(stream, at, end).size -> end
        }
      }
      .take(Batches)
      .toVector
    Evidence.unless(sizes.size < Batches)(s"after $Batches batches there is still another")
    sizes
  }
}

/** An origin and a checkpoint for one check, with calls to the source as Spark's engine makes them. */
final private[testkit] class StreamScene(fixture: SourceFixture, isRefusal: (Throwable, Condition) => Boolean)
    extends Scene(fixture) {
  val everything: ReadLimit = ReadLimit.allAvailable()

  private val checkpoint = directory.resolve("sources").resolve("0")
  private val streams = mutable.Buffer.empty[MicroBatchStream]

  def newStream(partitions: Int = 2): MicroBatchStream = remember(fixture.newStream(checkpoint, partitions))

  /** Creates a stream over another origin, with its own checkpoint. */
  def newStreamOfAnotherSource(): MicroBatchStream =
    remember(fixture.newStreamOfAnotherSource(checkpoint.resolveSibling("1")))

  /** Ignores errors of stopping streams, which would hide why a check failed. */
  override def close(): Unit = {
    streams.foreach(stream => Try(stream.stop()))
    super.close()
  }

  private def remember(stream: MicroBatchStream): MicroBatchStream = {
    streams += stream
    stream
  }

  /** Creates a stream. Returns it with its first offset and the offset after `rows` rows. */
  def begin(rows: Int): (MicroBatchStream, Offset, Offset) = {
    fixture.makeAvailable(rows)
    val stream = newStream()
    val start = stream.initialOffset()
    (stream, start, next(stream, start, everything))
  }

  def next(stream: MicroBatchStream, start: Offset, limit: ReadLimit): Offset =
    MicroBatch
      .next(stream, start, limit)
      .getOrElse(Evidence.broken(s"no batch after ${start.json} under $limit, though there are rows"))

  def read(stream: MicroBatchStream, start: Offset, end: Offset): Seq[Seq[Any]] =
    MicroBatch.read(stream, fixture.schema, start, end)

  /** Rows between two offsets, read from the stream of a new driver. */
  def replay(start: Offset, end: Offset, partitions: Int): Seq[Seq[Any]] = {
    val stream = newStream(partitions)
    read(stream, stream.deserializeOffset(start.json), stream.deserializeOffset(end.json))
  }

  def rowsBefore(stream: MicroBatchStream, offset: Offset): Long =
    fixture.rowsBefore(offset) match {
      case SourceFixture.NotKnown => read(stream, stream.initialOffset(), offset).size.toLong
      case offset                 => offset
    }

  def refused(condition: Condition, what: String)(body: => Any): Throwable =
    ExpectedRefusal.of(condition, what, isRefusal)(body)
}
