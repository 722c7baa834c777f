package io.epochal.ingest.http

/** Metrics in the text format of Prometheus, version 0.0.4. */
final private[http] class PrometheusText {
  private val text = new StringBuilder

  def counter(name: String, help: String)(samples: (Seq[(String, String)], Number)*): Unit =
    family(name, "counter", help, samples)

  def gauge(name: String, help: String)(value: Number): Unit = family(name, "gauge", help, Seq(Nil -> value))

  /** @param buckets
    *   upper bounds, and how many values are at most that
    */
  def histogram(name: String, help: String)(buckets: Seq[(Double, Long)], count: Long, sum: Double): Unit = {
    head(name, "histogram", help)
    buckets.foreach { case (bound, n) => sample(s"${name}_bucket", Seq("le" -> bound.toString), n) }
    sample(s"${name}_bucket", Seq("le" -> "+Inf"), count)
    sample(s"${name}_sum", Nil, sum)
    sample(s"${name}_count", Nil, count)
  }

  def result(): String = text.result()

  private def family(name: String, kind: String, help: String, samples: Seq[(Seq[(String, String)], Number)]): Unit = {
    head(name, kind, help)
    samples.foreach { case (labels, value) => sample(name, labels, value) }
  }

  private def head(name: String, kind: String, help: String): Unit = {
    val _ = text.append(s"# HELP $name $help\n# TYPE $name $kind\n")
  }

  /** Labels are words of ours, which need no escaping. */
  private def sample(name: String, labels: Seq[(String, String)], value: Number): Unit = {
    val shown =
      if (labels.isEmpty) "" else labels.map { case (label, text) => s"""$label="$text"""" }.mkString("{", ",", "}")
    val _ = text.append(s"$name$shown $value\n")
  }
}
