package io.epochal.kit.spark;

import com.codahale.metrics.MetricRegistry;
import org.apache.spark.SparkEnv;

/**
 * Metrics as Spark's metrics system takes them.
 *
 * <p>In Java, and only within a method, because to Scala Spark's interface is private.
 */
final class GaugeSource {
  private GaugeSource() {}

  /**
   * Puts metrics into the metrics system under a name.
   *
   * @return removes them, and every other one whose name begins with that name
   */
  static Runnable register(SparkEnv env, String name, MetricRegistry metrics) {
    var source =
        new org.apache.spark.metrics.source.Source() {
          @Override
          public String sourceName() {
            return name;
          }

          @Override
          public MetricRegistry metricRegistry() {
            return metrics;
          }
        };
    env.metricsSystem().registerSource(source);
    return () -> env.metricsSystem().removeSource(source);
  }
}
