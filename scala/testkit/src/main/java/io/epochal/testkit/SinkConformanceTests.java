package io.epochal.testkit;

import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What every exactly-once sink must do, as JUnit 5 tests; used like {@link SourceConformanceTests}. */
public interface SinkConformanceTests {

  /** What reports call the sink. */
  String sinkName();

  /** A fresh target with no rows; made for each check, and closed after it. */
  FormatSink newFixture() throws Exception;

  /** A test for each promise. */
  @TestFactory
  default Stream<DynamicTest> promises() {
    return PromiseFactory.tests(Conformance.sink(sinkName(), PromiseFactory.supplier(this::newFixture)));
  }
}
