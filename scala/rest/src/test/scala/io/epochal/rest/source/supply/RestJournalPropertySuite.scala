package io.epochal.rest.source.supply

import java.nio.file.{Files, Path}

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.kit.source.SourceStream
import io.epochal.rest.source._
import io.epochal.support.Examples
import io.epochal.testkit.MicroBatch

/** Any API, any course of a query: each served record is delivered once, and a replay is identical. */
@Slow
final class RestJournalPropertySuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  import RestJournalPropertySuite._

  private val schema = StructType.fromDDL("id INT, name STRING")

  private val steps: Gen[List[Step]] = Gen.listOf(for {
    grow <- Gen.frequency(3 -> 0, 2 -> 1, 3 -> Gen.choose(2, 30))
    limit <- Gen.frequency(3 -> Gen.choose(1L, 12L), 1 -> Long.MaxValue)
    failures <- Gen.frequency(5 -> 0, 1 -> Gen.choose(1, 3))
    end <- Gen.frequency(4 -> Delivered, 1 -> KilledBeforeLog, 1 -> KilledAfterLog)
  } yield Step(grow, limit, failures, end))

  /** The bounds of polls, and the trigger. */
  private val ways: Gen[Way] = for {
    bytes <- Gen.oneOf("1", "150", "128m")
    availableNow <- Gen.oneOf(true, false)
  } yield Way(bytes, availableNow)

  private def check(options: Seq[(String, String)], way: Way, api: Served, course: List[Step]): Unit = {
    val checkpoint: Path = Files.createTempDirectory("rest").resolve("0")
    def start(availableNow: Boolean = way.availableNow): SourceStream[RestPosition] = {
      val made = RestStreams.over(api.url, checkpoint, schema, options :+ ("maxPollBytes" -> way.bytes): _*)
      if (availableNow) made.prepareForTriggerAvailableNow()
      made
    }
    var stream = start()
    var logged = Vector[Offset](stream.initialOffset())
    var delivered = Vector.empty[Int]
    def read(from: Offset, until: Offset): Seq[Int] =
      MicroBatch.read(stream, schema, from, until).map(_.head.asInstanceOf[Int])
    def restart(availableNow: Boolean = way.availableNow): Unit = {
      stream = start(availableNow)
      logged = logged.map(offset => stream.deserializeOffset(offset.json))
    }
    course.foreach { step =>
      api.grow(step.grow)
      api.fail(step.failures)
      val limit = if (step.limit == Long.MaxValue) ReadLimit.allAvailable() else ReadLimit.maxRows(step.limit)
      val from = logged.last
      MicroBatch.next(stream, from, limit).foreach { end =>
        if (step.end == KilledBeforeLog) restart()
        else {
          logged :+= end
          if (step.end == KilledAfterLog) restart()
          stream.commit(logged(logged.size - 2))
          val rows = read(logged(logged.size - 2), logged.last)
          assert(rows.size <= step.limit)
          delivered ++= rows
          if (step.end == KilledAfterLog) assert(read(logged(logged.size - 2), logged.last) == rows)
        }
      }
    }
    if (way.availableNow) restart(availableNow = false)
    Iterator
      .continually(MicroBatch.next(stream, logged.last, ReadLimit.allAvailable()))
      .takeWhile(_.nonEmpty)
      .flatten
      .foreach { end =>
        stream.commit(logged.last)
        delivered ++= read(logged.last, end)
        logged :+= end
      }
    assert(delivered == (0 until api.count()))
    // A new stream replays the retained batches.
    restart()
    val recent = logged.sliding(2).toVector.takeRight(2)
    val again = recent.collect { case Vector(from, until) => read(from, until) }.flatten
    assert(again == delivered.takeRight(again.size))
  }

  ChainApi.kinds.foreach { case (kind, options) =>
    test(s"$kind: records are delivered once, through any behaviour of the API and any kill of the query") {
      forAll(Gen.choose(1, 9), ways, steps, minSuccessful(Examples.of(20))) { (size, way, course) =>
        ChainApi.using(records = 0) { api =>
          api.pageSize = size
          def fail(requests: Int): Unit = {
            val failures = Iterator.fill(requests)(503) ++ Iterator.continually(200)
            api.before = () => failures.synchronized(failures.next())
          }
          val served = Served(api.url, api.count += _, fail, () => api.count)
          check(options :+ ("numPartitions" -> "3"), way, served, course)
        }
      }
    }
  }

  Seq("none", "offset", "page").foreach { kind =>
    test(s"$kind with a journal: records are delivered once, whenever the query is killed") {
      forAll(Gen.choose(1, 9), ways, steps, minSuccessful(Examples.of(15))) { (size, way, course) =>
        RecordsApi.using(records = 0) { api =>
          val options = Seq("pagination" -> kind, "journal" -> "true", "numPartitions" -> "3") ++
            Option.when(kind != "none")("pageSize" -> s"$size")
          check(options, way, Served(api.url, api.count += _, _ => (), () => api.count), course)
        }
      }
    }
  }
}

private object RestJournalPropertySuite {

  /** @param fail
    *   makes the next requests fail
    */
  final case class Served(url: String, grow: Int => Unit, fail: Int => Unit, count: () => Int)

  final case class Way(bytes: String, availableNow: Boolean)

  /** The next step in the life of a query.
    *
    * @param grow
    *   records that the API gets first
    * @param limit
    *   of the batch
    * @param failures
    *   requests that fail first
    * @param end
    *   the outcome of the batch
    */
  final case class Step(grow: Int, limit: Long, failures: Int, end: End)

  sealed trait End
  case object Delivered extends End

  /** Killed after the pages were journalled, before an offset was logged. */
  case object KilledBeforeLog extends End

  /** Killed after the offset was logged: the batch is replayed. */
  case object KilledAfterLog extends End
}
