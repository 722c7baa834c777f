package io.epochal.kit;

import io.epochal.core.error.Condition;
import io.epochal.core.error.EpochalException;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkThrowable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Our exception as one that Spark knows: with a condition (`EPOCHAL.DATA_LOSS`) and the values as message parameters, which reach
 * PySpark's `getCondition()` and `getMessageParameters()`, Spark Connect's error details and query events. The parameter `markup` is the
 * message with references to options, where it has some.
 *
 * In Java, because a Scala class would get a method for every default method of the interface, and with it a reference to classes
 * that older Sparks do not have.
 */
public final class SparkEpochalException extends EpochalException implements SparkThrowable {
  private static final long serialVersionUID = 1L;

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

  /** None; Spark would look for the condition among its own. */
  @Override
  public String getSqlState() {
    return null;
  }

  /** Found by name: `META-INF/services` of this jar. */
  public static final class Maker implements EpochalException.Maker {
    @Override
    public EpochalException make(
        Condition condition, scala.collection.immutable.Map<String, String> values, Throwable cause) {
      return new SparkEpochalException(condition, values, cause);
    }
  }
}
