package io.epochal.rest.source.fan

import java.nio.file.Files

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.kit.source.SourceStream
import io.epochal.rest.source.{RestPosition, RestStreams, TaggedApi}
import io.epochal.support.Examples
import io.epochal.testkit.MicroBatch

/** Any growing lists, and any course of a query over a changing table of them: all records of each list are delivered
  * once.
  */
@Slow
final class RestFanOutPropertySuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  import RestFanOutPropertySuite._

  private val schema = StructType.fromDDL("id INT, name STRING")

  private val steps: Gen[List[Step]] = Gen.listOf(for {
    grow <- Gen.listOfN(Lists.size, Gen.frequency(3 -> 0, 2 -> Gen.choose(1, 12)))
    limit <- Gen.frequency(3 -> Gen.choose(1L, 12L), 1 -> Long.MaxValue)
    failures <- Gen.frequency(5 -> 0, 1 -> Gen.choose(1, 3))
    table <- Gen.atLeastOne(Lists).map(_.toSeq.sorted)
    end <- Gen.frequency(4 -> Delivered, 1 -> KilledBeforeLog, 1 -> KilledAfterLog)
  } yield Step(grow, limit, failures, table, end))

  private def check(api: TaggedApi, options: Seq[(String, String)], course: List[Step]): Unit = {
    val checkpoint = Files.createTempDirectory("rest").resolve("0")
    def start(lists: Seq[String]): SourceStream[RestPosition] = {
      val table = lists.map(list => s"""{"list":"$list"}""").mkString("[", ",", "]")
      RestStreams.over(
        s"${api.url}/$${list}",
        checkpoint,
        schema,
        options ++ Seq("partitionParams" -> table, "numPartitions" -> "3"): _*)
    }
    var stream = start(Lists.take(1))
    var logged = Vector[Offset](stream.initialOffset())
    var delivered = Vector.empty[String]
    def read(from: Offset, until: Offset): Seq[String] = MicroBatch.read(stream, schema, from, until).map(_(1).toString)
    def restart(lists: Seq[String]): Unit = {
      stream.stop()
      stream = start(lists)
      logged = logged.map(offset => stream.deserializeOffset(offset.json))
    }
    def asDelivered(rows: Seq[String]): Unit = {
      delivered ++= rows
      Lists.foreach { list =>
        val ours = delivered.filter(_.startsWith(s"$list "))
        assert(ours == ours.indices.map(i => s"$list $i"))
      }
    }
    course.foreach { step =>
      Lists.zip(step.grow).foreach { case (list, more) =>
        api.counts.update(list, api.counts.getOrElse(list, 0) + more)
      }
      val failures = Iterator.fill(step.failures)(503) ++ Iterator.continually(200)
      api.before = _ => failures.synchronized(failures.next())
      val limit = if (step.limit == Long.MaxValue) ReadLimit.allAvailable() else ReadLimit.maxRows(step.limit)
      MicroBatch.next(stream, logged.last, limit).foreach { end =>
        if (step.end == KilledBeforeLog) restart(step.table)
        else {
          logged :+= end
          if (step.end == KilledAfterLog)
            restart(step.table) // The batch may have lists that are no longer in the table.
          stream.commit(logged(logged.size - 2))
          val rows = read(logged(logged.size - 2), logged.last)
          assert(rows.size <= step.limit)
          asDelivered(rows)
          if (step.end == KilledAfterLog) assert(read(logged(logged.size - 2), logged.last) == rows)
        }
      }
    }
    restart(Lists)
    MicroBatch.next(stream, logged.last, ReadLimit.allAvailable()).foreach { end =>
      asDelivered(read(logged.last, end))
      logged :+= end
    }
    assert(delivered.size == api.counts.values.sum)
    restart(Lists.take(1))
    val recent = logged.sliding(2).toVector.takeRight(2)
    val again = recent.collect { case Vector(from, until) => read(from, until) }.flatten
    assert(again == delivered.takeRight(again.size))
    stream.stop()
  }

  (TaggedApi.kinds.toSeq :+ ("offset with a journal" -> (TaggedApi.kinds("offset") :+ ("journal" -> "true"))))
    .sortBy(_._1)
    .foreach { case (kind, options) =>
      test(s"$kind: all records of each list are delivered once, through any course of the query and its table") {
        TaggedApi.using(records = 0) { api =>
          forAll(steps, minSuccessful(Examples.of(8))) { course =>
            api.counts.clear()
            check(api, options, course)
          }
        }
      }
    }
}

private object RestFanOutPropertySuite {

  val Lists: Seq[String] = Seq("a", "b c", "d/e")

  /** The next step in the life of a query.
    *
    * @param grow
    *   records that each list gets first
    * @param table
    *   after a restart
    */
  final case class Step(grow: List[Int], limit: Long, failures: Int, table: Seq[String], end: End)

  sealed trait End
  case object Delivered extends End
  case object KilledBeforeLog extends End
  case object KilledAfterLog extends End
}
