package io.epochal.kit.spark;

import com.codahale.metrics.MetricRegistry;
import org.apache.spark.SparkEnv;

/**
 * Publishes metrics through Spark's metrics system.
 *
 * <p>Written in Java, and only within a method: Spark's interface is private to Scala code.
 */
final class GaugeSource {
  private GaugeSource() {}

  /**
   * Registers metrics under a name.
   *
   * @return removes them, and all other metrics whose name begins with that name
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
