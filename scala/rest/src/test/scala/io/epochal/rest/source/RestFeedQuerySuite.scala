package io.epochal.rest.source

import java.io.File
import java.util.UUID

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.tags.Slow
import org.scalatest.time.{Minutes, Span}

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.support.ModesTest.Mode
import io.epochal.support.{Collected, ModesTest}

/** Queries with continuous tasks over APIs whose pages are received into the journal: each record is delivered, and none
  * again once Spark has logged it; a record that was delivered and not logged is replayed unchanged.
  */
@Slow
final class RestFeedQuerySuite extends ModesTest {
  import RestFeedQuerySuite._

  for (first <- Modes; second <- Modes
    if first != Micro && !refused(first -> second) || second != Micro && first == Micro)
    test(s"cursor, ${first.name} to ${second.name}: each record once, while the API grows") {
      ChainApi.using(records = 0)(api => grows(first, second, api.count = _, chained(api)))
    }

  for (mode <- Endless; kind <- Seq("keyset", "link", "next-url"))
    test(s"$kind, ${mode.name}: each record once, while the API grows") {
      ChainApi.using(records = 0)(api => grows(mode, mode, api.count = _, chained(api, kind)))
    }

  for (mode <- Endless)
    test(s"offset, journalled, ${mode.name}: each record once, while the API grows") {
      val api = new RecordsApi
      try
        grows(
          mode,
          mode,
          api.count = _,
          Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "4", "journal" -> "true"))
      finally api.close()
    }

  for (second <- Modes)
    test(
      s"real-time to ${second.name}: records delivered and not logged are replayed unchanged, regardless of the API's present state") {
      ChainApi.using(records = 10) { api =>
        withTempDir { checkpoint =>
          val (found, query) = start(checkpoint, RealTime.copy(trigger = Trigger.RealTime(600000)), chained(api))
          try until(query)(assert(names(found).size == 10))
          finally query.stop()
          assert(committed(checkpoint) == 0)
          api.record = i => s"""{"id":$i,"name":"another $i"}"""
          api.count = 12
          val (again, next) = start(checkpoint, second, chained(api))
          try until(next)(assert(names(again).size >= 12))
          finally next.stop()
          assert(names(again) == (0 until 10).map(i => s"record $i") ++ Seq("another 10", "another 11"))
        }
      }
    }

  test(
    "over runs of all modes, stopped at any moment, each begins after the last committed epoch, and has all records") {
    ChainApi.using(records = 0) { api =>
      withTempDir { checkpoint =>
        val modes = Seq(RealTime, RealTime, Micro, RealTime, RealTime, Continuous, Continuous, Continuous)
        modes.zip(RealTime +: modes).foreach { case (mode, previous) =>
          finish(previous -> mode, checkpoint)(start(checkpoint, _, chained(api))._2)
          val before = committed(checkpoint)
          val (found, query) = start(checkpoint, mode, chained(api))
          try
            (1 to 3).foreach { _ =>
              api.count += 7
              until(query)(assert(ids(found).lastOption.exists(_ == api.count - 1)))
            }
          finally query.stop()
          assert(ids(found) == (before until api.count.toLong), mode)
        }
        assert(committed(checkpoint) > 0)
      }
    }
  }

  for (mode <- Seq(Continuous, RealTime))
    test(s"${mode.name}: epochs end before the API has responded, and a restart begins there") {
      ChainApi.using(records = 3) { api =>
        withTempDir { checkpoint =>
          api.before = () => {
            Thread.sleep(3000)
            200
          }
          val (_, query) = start(checkpoint, mode, chained(api))
          try until(query)(assert(new File(checkpoint, "commits").list.count(_.toLongOption.nonEmpty) > 1))
          finally query.stop()
          api.before = () => 200
          val (found, next) = start(checkpoint, mode, chained(api))
          try until(next)(assert(ids(found) == (0 until 3)))
          finally next.stop()
        }
      }
    }

  test("records without a row are skipped: a restart delivers none of their neighbours again") {
    ChainApi.using(records = 12) { api =>
      withTempDir { checkpoint =>
        api.record =
          i => if (i % 3 == 1 || i > 9) """{"id":"no number","name":"x"}""" else s"""{"id":$i,"name":"record $i"}"""
        val options = chained(api) + ("mode" -> "DROPMALFORMED")
        val (found, query) = start(checkpoint, RealTime, options)
        try {
          until(query)(assert(ids(found) == Seq(0, 2, 3, 5, 6, 8, 9)))
          until(query)(assert(committed(checkpoint) == 12))
        } finally query.stop()
        api.count = 16
        api.record = i => s"""{"id":$i,"name":"record $i"}"""
        val (again, next) = start(checkpoint, RealTime, options)
        try until(next)(assert(ids(again) == Seq(12, 13, 14, 15)))
        finally next.stop()
      }
    }
  }

  for (mode <- Endless)
    test(s"${mode.name}: an API that fails ends the query, and the next run resumes") {
      ChainApi.using(records = 6) { api =>
        withTempDir { checkpoint =>
          val options = chained(api) ++ Map("retry.maxAttempts" -> "2", "retry.initialDelay" -> "1ms")
          val (found, query) = start(checkpoint, mode.copy(trigger = long(mode)), options)
          try {
            until(query)(assert(ids(found).size == 6))
            api.before = () => 500
            eventually(timeout(Span(1, Minutes)))(assert(query.exception.exists(has(_, Conditions.HttpStatus))))
          } finally query.stop()
          api.before = () => 200
          api.count = 9
          val (again, next) = start(checkpoint, mode, options)
          try until(next)(assert(ids(again) == (0 until 9)))
          finally next.stop()
        }
      }
    }

  test("lists that no task can follow are refused by name, with a remedy") {
    val api = new RecordsApi
    try {
      api.count = 1
      val counted = Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "4")
      val fanned = ChainApi.kinds("cursor").toMap ++
        Map("url" -> s"${api.url}/$${list}", "partitionParams" -> """[{"list":"a"}]""")
      Seq(counted -> "journal=true", fanned -> "partitionParams").foreach { case (options, says) =>
        withTempDir { checkpoint =>
          val (_, query) = start(checkpoint, RealTime, options)
          try {
            eventually(timeout(Span(1, Minutes)))(assert(query.exception.exists(has(_, Conditions.TriggerUnsupported))))
            assert(query.exception.get.getMessage.contains(says))
          } finally query.stop()
        }
        withTempDir { checkpoint =>
          assert(intercept[Exception](start(checkpoint, Continuous, options)).getMessage.contains("epochal-rest"))
        }
      }
    } finally api.close()
  }

  private def chained(api: ChainApi, kind: String = "cursor"): Map[String, String] =
    Map("url" -> api.url) ++ ChainApi.kinds(kind)

  private def grows(first: Mode, second: Mode, grow: Int => Unit, options: Map[String, String]): Unit =
    withTempDir { checkpoint =>
      Seq((first, first, 0 to 30), (first, second, 30 to 45), (second, second, 45 to 46)).foreach {
        case (before, mode, range) =>
          finish(before -> mode, checkpoint)(start(checkpoint, _, options)._2)
          val (found, query) = start(checkpoint, mode, options)
          try
            Seq((range.start + range.end) / 2, range.end).foreach { count =>
              grow(count)
              until(query)(assert(committed(checkpoint) == count))
            }
          finally query.stop()
          assert(ids(found) == (range.start until range.end), mode)
      }
    }

  private def until(query: StreamingQuery)(claim: => Any): Unit = until(query, minutes = 2)(claim)

  private def start(checkpoint: File, mode: Mode, options: Map[String, String]): (String, StreamingQuery) = {
    val name = UUID.randomUUID().toString
    val quick = Map("refreshInterval" -> "50ms", "numPartitions" -> "1")
    val frame = spark.readStream.format("epochal-rest").schema("id INT, name STRING").options(quick ++ options).load()
    name -> collect(frame, checkpoint, mode, name)
  }

  private def ids(name: String): Seq[Long] = Collected.of(name).map(_.getInt(0).toLong)

  private def names(name: String): Seq[String] = Collected.of(name).map(_.getString(1))

  private def has(error: Throwable, condition: Condition): Boolean =
    EpochalException.in(error).exists(_.condition == condition)

  /** Records before the end of the last epoch that Spark logged as committed. */
  private def committed(checkpoint: File): Long = ModesTest.committed(checkpoint, "records")
}

private object RestFeedQuerySuite extends ModesTest.Modes(micro = 50, continuous = 100, realTime = 500) {
  val Endless: Seq[Mode] = Seq(Continuous, RealTime)

  /** A trigger whose epochs do not end. */
  def long(mode: Mode): Trigger =
    if (mode == Continuous) Trigger.Continuous(600000) else Trigger.RealTime(600000)
}
