package io.epochal.testkit;

import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * What every source must do, as JUnit 5 tests. A test class implements it and says what the source is:
 *
 * <pre>{@code
 * final class MySourceTest implements SourceConformanceTests {
 *   public String sourceName() { return "my-source"; }
 *   public SourceFixture newFixture() { return new MyFixture(); }
 * }
 * }</pre>
 */
public interface SourceConformanceTests {

  /** What reports call the source. */
  String sourceName();

  /** A fresh origin with no rows; made for each check, and closed after it. */
  SourceFixture newFixture() throws Exception;

  /** A test for each promise. */
  @TestFactory
  default Stream<DynamicTest> promises() {
    return PromiseFactory.tests(Conformance.source(sourceName(), PromiseFactory.supplier(this::newFixture)));
  }
}
