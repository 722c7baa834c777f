package io.epochal.kit.source

import io.epochal.kit.spark.QueryMetrics

/** What Spark's metrics system has of a stream: the numbers of a progress, at any time, in every mode. */
final private[source] class SourceGauges[P](source: Source[P], initial: InitialOffset, lag: StreamLag[P]) {
  private var shown = false

  /** From the first batch on, in the query's thread. */
  def show(): Unit = if (!shown) {
    shown = true
    val part = Seq("source", initial.source, source.name.takeWhile(_ != '['))
    val names = values(Some(Lag(Some(0L), exact = true, None))).keySet ++ source.laterMetrics
    QueryMetrics.show(part, names)(values(lag.now).getOrElse(_, Double.NaN))
  }

  private def values(found: Option[Lag]): Map[String, Double] = {
    val behind = found.flatMap(_.rows)
    Map(
      "totalRows" -> lag.totalRows.toDouble,
      "rowsBehind" -> behind.fold(Double.NaN)(_.toDouble),
      "rowsBehindExact" -> found.fold(Double.NaN)(known => if (known.exact) 1.0 else 0.0),
      "secondsBehind" -> found.flatMap(_.seconds).fold(Double.NaN)(_.toDouble),
      "secondsSincePoll" -> lag.secondsSincePoll
    ) ++ source.metrics(behind).flatMap { case (name, text) => number(text).map(name -> _) }
  }

  /** `true` is 1, `false` is 0; other texts are no metrics. */
  private def number(text: String): Option[Double] =
    text.toDoubleOption.orElse(text.toBooleanOption.map(if (_) 1.0 else 0.0))
}
