package io.epochal.kit.spark

import scala.util.Try
import scala.util.control.NonFatal

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.SparkEnv
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd, SparkListenerEvent}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent
import org.slf4j.LoggerFactory

/** The gauges of running queries in Spark's metrics system, on the driver: `epochal.<query>.<part>.<name>`.
  *
  * They exist from the first use of a part until its query ends; a restarted query replaces those of its previous run. A query
  * appears under its name, else under its id; if a query of another session has that name, the beginning of the later one's id
  * is appended. All characters except letters, digits and underscores become underscores.
  *
  * Not guaranteed: a failure here is logged, and the query continues without gauges.
  */
private[epochal] object QueryMetrics {
  private val log = LoggerFactory.getLogger("io.epochal.kit.spark.QueryMetrics")
  private var ofDriver = Option.empty[DriverGauges]

  /** Publishes gauges of the query that runs in this thread. In any other thread it does nothing.
    *
    * @param part
    *   the component of the query; each word is one segment of the name
    * @param value
    *   the value of a gauge by name, called by Spark's threads; NaN: unknown
    */
  def show(part: Seq[String], names: Iterable[String])(value: String => Double): Unit =
    try
      for {
        env <- Option(SparkEnv.get)
        query <- RunningQuery.ofThisThread
      } gauges(env).show(query, part.map(word).mkString("."), names, value)
    catch {
      case error @ (NonFatal(_) | _: LinkageError) => log.warn(s"Gauges are not in Spark's metrics system: $error")
    }

  def word(text: String): String = text.replaceAll("[^A-Za-z0-9]+", "_")

  /** A JVM may run several drivers in succession. */
  private def gauges(env: SparkEnv): DriverGauges = synchronized {
    ofDriver.filter(_.env eq env).getOrElse {
      val gauges = new DriverGauges(env)
      SparkSession.active.sparkContext.addSparkListener(gauges)
      ofDriver = Some(gauges)
      gauges
    }
  }

  private[spark] def forget(gauges: DriverGauges): Unit = synchronized {
    if (ofDriver.exists(_ eq gauges)) ofDriver = None
  }
}

final private[spark] class DriverGauges(val env: SparkEnv) extends SparkListener {
  private var gauges = Vector.empty[Registration]

  def show(query: ThreadQuery, part: String, names: Iterable[String], value: String => Double): Unit = synchronized {
    remove(one => one.query.ended || one.query.runId == query.runId && one.part == part)
    val label = labelOf(query)
    val registry = new MetricRegistry
    names.foreach(name => registry.register(name, gauge(value(name))))
    gauges :+= Registration(query, label, part, GaugeSource.register(env, s"epochal.$label.$part", registry))
  }

  /** The label that all parts of a run share. */
  private def labelOf(query: ThreadQuery): String =
    gauges
      .find(_.query.runId == query.runId)
      .fold {
        val label = QueryMetrics.word(query.name.getOrElse(query.id))
        if (gauges.exists(_.label == label)) s"${label}_${query.id.take(8)}" else label
      }(_.label)

  private def gauge(value: => Double): Gauge[Double] = () => Try(value).getOrElse(Double.NaN)

  private def remove(which: Registration => Boolean): Unit = synchronized {
    val (removals, left) = gauges.partition(which)
    gauges = left
    removals.foreach(_.removal.run())
  }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case event: QueryTerminatedEvent => remove(_.query.runId == event.runId.toString)
    case _                           =>
  }

  override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = QueryMetrics.forget(this)
}

/** Registered gauges.
  *
  * @param label
  *   of the query
  */
final private case class Registration(query: ThreadQuery, label: String, part: String, removal: Runnable)
