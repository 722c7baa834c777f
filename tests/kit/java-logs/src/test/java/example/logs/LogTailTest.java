package example.logs;

import io.epochal.testkit.*;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.stream.Stream;
import org.junit.jupiter.api.*;

/** A test for each promise of continuous and real-time queries. */
final class LogTailTest {
  @TestFactory Stream<DynamicTest> promises() {
    var all = Conformance.source("log tail", () -> newFixture());
    return PromiseFactory.tests(all.only("to-continuous", "steady-tasks", "from-real-time"));
  }

  private static FormatSource newFixture() {
    try {
      return new LogTailFixture();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

/** A file to which lines are added. */
final class LogTailFixture extends FormatSource {
  private final Path file = Files.createTempFile("log", ".log");
  private int written = 0;

  LogTailFixture() throws IOException { super("log-tail"); }

  @Override public Map<String, String> options() { return Map.of("file", file.toString()); }
  @Override public Map<String, String> optionsOfAnotherSource() { return Map.of("file", file + ".other"); }
  @Override public Set<String> modes() { return Set.of("continuous", "real-time"); }

  @Override public void makeAvailable(int rows) throws IOException {
    for (int end = written + rows; written < end; written++)
      Files.writeString(file, "line " + written + "\n", StandardOpenOption.APPEND);
  }

  @Override public void close() throws IOException { Files.delete(file); }
}
