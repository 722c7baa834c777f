package io.epochal.formats;

import org.apache.spark.sql.sources.DataSourceRegister;

/**
 * Refuses Spark versions that are older than this jar supports. They come with another Scala version, which cannot load our classes.
 * So this class is in Java, and the first provider in `META-INF/services`, which Spark instantiates before the others.
 */
public final class SupportedSpark implements DataSourceRegister {
  private static final String LINES = "4.0, 4.1, 4.2 and 4.3";

  /**
   * Succeeds on a supported Spark.
   *
   * @throws UnsupportedOperationException on an older one
   */
  public SupportedSpark() {
    String problem = problem(org.apache.spark.package$.MODULE$.SPARK_VERSION());
    if (problem != null) throw new UnsupportedOperationException(problem);
  }

  /** Not a format that can be read or written. */
  @Override
  public String shortName() {
    return "epochal-supported-spark";
  }

  /** Error message for an unsupported version, or null. */
  static String problem(String version) {
    int dot = version.indexOf('.');
    boolean isOld = dot > 0 && version.substring(0, dot).matches("[0-3]");
    if (!isOld) return null;
    return "[EPOCHAL.SPARK_UNSUPPORTED] This is Spark " + version + ", but Epochal runs on Spark " + LINES + ". Hint: "
        + "Install one of these: pip install 'pyspark>=4.0,<4.4', or a distribution of Spark with Scala 2.13.";
  }
}
