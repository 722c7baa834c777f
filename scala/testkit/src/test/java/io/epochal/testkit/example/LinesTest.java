package io.epochal.testkit.example;

import io.epochal.testkit.FormatSource;
import io.epochal.testkit.SourceConformanceTests;
import io.epochal.testkit.SourceFixture;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

final class LinesTest implements SourceConformanceTests {

  @Override
  public String sourceName() {
    return "lines";
  }

  @Override
  public SourceFixture newFixture() throws IOException {
    return new LinesFixture();
  }
}

final class LinesFixture extends FormatSource {
  private final Path file;
  private int written = 0;

  LinesFixture() throws IOException {
    super("io.epochal.testkit.connector.Lines");
    file = Files.createTempFile("lines", ".txt");
  }

  @Override
  public Map<String, String> options() {
    return Map.of("path", file.toString());
  }

  @Override
  public Map<String, String> optionsOfAnotherSource() {
    return Map.of("path", file + ".other");
  }

  @Override
  public String partitionsOption() {
    return "numPartitions";
  }

  @Override
  public void makeAvailable(int rows) throws IOException {
    List<String> lines = IntStream.range(written, written + rows).mapToObj(n -> "line " + n).toList();
    Files.write(file, lines, StandardOpenOption.APPEND);
    written += rows;
  }
}
