package io.epochal.kit;

import io.epochal.core.error.Condition;
import io.epochal.core.error.EpochalException;
import io.epochal.kit.spark.ErrorLog;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkThrowable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An {@code EpochalException} that Spark recognises. Its condition ({@code EPOCHAL.DATA_LOSS}) and message parameters reach
 * PySpark's {@code getCondition()} and {@code getMessageParameters()}, Spark Connect's error details and query events. The
 * parameter {@code markup} is the message with its references to options, if it has any.
 *
 * <p>Written in Java: a Scala class would get a forwarder for every default method of the interface, and so a reference to
 * classes that older Spark versions lack.
 */
public final class SparkEpochalException extends EpochalException implements SparkThrowable {
  private static final long serialVersionUID = 1L;

  static {
    try {
      ErrorLog.install();
    } catch (LinkageError | RuntimeException noLog4j) {
      // Spark's log is written by another backend, and shows stack traces.
    }
  }

  private SparkEpochalException(
      Condition condition, scala.collection.immutable.Map<String, String> values, Throwable cause) {
    super(condition, values, cause);
  }

  @Override
  public String getCondition() {
    return "EPOCHAL." + condition().name();
  }

  @Override
  public Map<String, String> getMessageParameters() {
    var parameters = new TreeMap<>(CollectionConverters.asJava(values()));
    if (!markup().equals(getMessage())) parameters.put("markup", markup());
    return parameters;
  }

  /** None: Spark would look the condition up among its own. */
  @Override
  public String getSqlState() {
    return null;
  }

  /** Service provider, registered in {@code META-INF/services} of this jar. */
  public static final class Maker implements EpochalException.Maker {
    @Override
    public EpochalException make(
        Condition condition, scala.collection.immutable.Map<String, String> values, Throwable cause) {
      return new SparkEpochalException(condition, values, cause);
    }
  }
}
