package io.epochal.testkit.example;

import io.epochal.testkit.Conformance;
import io.epochal.testkit.PromiseFactory;
import io.epochal.testkit.SourceFixture;
import io.epochal.testkit.connector.LineFixture;
import io.epochal.testkit.connector.WallClockLines;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** A wrong source, with one exempt promise. */
final class WallClockTest {

  @TestFactory
  Stream<DynamicTest> promises() {
    return PromiseFactory.tests(
        Conformance.stream("clock", this::newFixture).only("offset-round-trip", "end-from-origin", "lag"));
  }

  private SourceFixture newFixture() {
    return new LineFixture(WallClockLines.class, false) {
      @Override
      public Map<String, String> exemptions() {
        return Map.of("lag", "the source counts no rows");
      }
    };
  }
}
