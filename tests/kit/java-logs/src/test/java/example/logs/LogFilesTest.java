package example.logs;

import io.epochal.testkit.FormatSource;
import io.epochal.testkit.SourceConformanceTests;
import java.io.IOException;
import java.nio.file.*;
import java.util.Map;

/** A test for each promise of a source. */
final class LogFilesTest implements SourceConformanceTests {
  @Override public String sourceName() { return "logs"; }
  @Override public FormatSource newFixture() throws IOException { return new LogFixture("logs"); }
}

/** A directory with two files, to which lines are added in turn. */
final class LogFixture extends FormatSource {
  private final Path directory = Files.createTempDirectory("logs");
  private int written = 0;

  LogFixture(String format) throws IOException { super(format); }

  @Override public Map<String, String> options() { return Map.of("directory", directory.toString()); }
  @Override public Map<String, String> optionsOfAnotherSource() { return Map.of("directory", directory + "-other"); }

  @Override public void makeAvailable(int rows) throws IOException {
    for (int end = written + rows; written < end; written++) {
      var file = directory.resolve(written % 2 + ".log");
      Files.writeString(file, "line " + written + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
  }

  @Override public void close() throws IOException {
    try (var files = Files.list(directory)) {
      for (Path file : files.toList()) Files.delete(file);
    }
    Files.delete(directory);
  }
}
