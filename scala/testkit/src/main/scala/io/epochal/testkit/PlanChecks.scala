package io.epochal.testkit

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit, ReportsSourceMetrics, SupportsAdmissionControl}

import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.report.{Check, Evidence}

/** Which rows lie between two offsets, and that no others ever do. */
private[testkit] object PlanChecks {

  def of(stage: StreamScene.Stage): Seq[Check] = Seq(
    stage.check(IdempotentPlan) { scene =>
      val (stream, start, end) = scene.started(23)
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
      val (stream, _, middle) = scene.started(10)
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
        case limited: SupportsAdmissionControl =>
          val latest = Option(limited.reportLatestOffset()).getOrElse(Evidence.broken("reportLatestOffset gives null"))
          val rows = scene.rowsBefore(stream, latest)
          Evidence.unless(rows >= 10)(s"after 10 rows were delivered, the latest offset counts $rows")
        case _ => Evidence.broken("the stream has no read limits (SupportsAdmissionControl)")
      }
      stream match {
        case reporting: ReportsSourceMetrics =>
          val none = reporting.metrics(java.util.Optional.empty[Offset]())
          Evidence.unless(none != null)("the source's metrics are null before the first batch")
          Seq(end, logged(end)).foreach { offset =>
            Evidence.unless(!reporting.metrics(java.util.Optional.of(offset)).isEmpty)("the source's metrics are empty")
          }
        case _ => Evidence.broken("the stream reports no metrics (ReportsSourceMetrics)")
      }
    }
  )

  /** As it comes from Spark's log after a restart: an offset of another class, with the JSON alone. */
  private def logged(offset: Offset): Offset = new Offset {
    override def json(): String = offset.json
  }

  /** Delivers all rows in batches of several sizes, each by a driver of its own: the last offset, and the rows in order. */
  private def deliverAll(scene: StreamScene, count: Int): (String, Seq[Seq[Any]]) = {
    scene.fixture.makeAvailable(count)
    val sizes = Iterator.continually(Seq(1L, 7L, 3L, 20L)).flatten
    var at = scene.newStream().initialOffset().json
    var rows = Vector.empty[Seq[Any]]
    var more = true
    while (more) {
      val stream = scene.newStream(3)
      val start = stream.deserializeOffset(at)
      MicroBatch.next(stream, start, ReadLimit.maxRows(sizes.next())) match {
        case Some(end) =>
          rows ++= scene.read(stream, start, end)
          stream.commit(start)
          at = end.json
        case None => more = false
      }
      stream.stop()
      Evidence.unless(rows.size <= count)(s"${rows.size} rows were delivered, though there are only $count")
    }
    (at, rows)
  }
}
