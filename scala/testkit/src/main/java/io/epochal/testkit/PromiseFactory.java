package io.epochal.testkit;

import io.epochal.testkit.report.Check;
import io.epochal.testkit.report.Finding;
import io.epochal.testkit.report.Outcome;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.DynamicTest;

/** JUnit 5 tests of a {@link Conformance}: a broken promise fails, an exempt one is aborted with the reason. */
public final class PromiseFactory {

  private PromiseFactory() {}

  /** One test per promise, in order. */
  public static Stream<DynamicTest> tests(Conformance conformance) {
    return conformance.checks().stream()
        .map(check -> DynamicTest.dynamicTest(check.promise().toString(), () -> run(conformance.subject(), check)))
        .onClose(conformance::release);
  }

  /** Wraps checked exceptions, so that the check that requested the fixture reports them. */
  static <F> Supplier<F> supplier(Callable<F> newFixture) {
    return () -> {
      try {
        return newFixture.call();
      } catch (RuntimeException e) {
        throw e;
      } catch (Exception e) {
        throw new IllegalStateException("The fixture cannot be made: " + e, e);
      }
    };
  }

  private static void run(String subject, Check check) {
    Finding finding = check.run();
    if (finding.outcome() instanceof Outcome.Broken broken) {
      throw new AssertionError(broken.evidence(), broken.cause());
    }
    // Build tools count aborted tests, and most of them do not name them.
    if (finding.isExempt()) System.out.println(subject + ": " + finding);
    Assumptions.assumeFalse(finding.isExempt(), finding.explanation());
  }
}
