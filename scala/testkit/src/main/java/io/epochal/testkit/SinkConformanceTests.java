package io.epochal.testkit;

import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** JUnit 5 tests for every promise of an exactly-once sink; used like {@link SourceConformanceTests}. */
public interface SinkConformanceTests {

  /** Name of the sink in reports. */
  String sinkName();

  /** Creates an empty target. Each check creates one and closes it. */
  FormatSink newFixture() throws Exception;

  /** One test per promise. */
  @TestFactory
  default Stream<DynamicTest> promises() {
    return PromiseFactory.tests(Conformance.sink(sinkName(), PromiseFactory.supplier(this::newFixture)));
  }
}
