package io.epochal.testkit;

import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * JUnit 5 tests for every promise of a source. A test class implements the interface:
 *
 * <pre>{@code
 * final class MySourceTest implements SourceConformanceTests {
 *   public String sourceName() { return "my-source"; }
 *   public SourceFixture newFixture() { return new MyFixture(); }
 * }
 * }</pre>
 */
public interface SourceConformanceTests {

  /** Name of the source in reports. */
  String sourceName();

  /** Creates an empty origin. Each check creates one and closes it. */
  SourceFixture newFixture() throws Exception;

  /** One test per promise. */
  @TestFactory
  default Stream<DynamicTest> promises() {
    return PromiseFactory.tests(Conformance.source(sourceName(), PromiseFactory.supplier(this::newFixture)));
  }
}
