package example.logs;

import io.epochal.core.option.OptionSpec;
import io.epochal.kit.connector.*;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import org.apache.spark.sql.types.StructType;

/** format("logs"): the lines of the *.log files of a directory, each once. A position is the bytes read of each file. */
public final class LogFiles extends SourceConnector<SortedMap<String, Long>> {
  private static final OptionSpec<String> DIRECTORY = Options.text("directory", "Where the files are.").asRequired();

  public LogFiles() { super("logs", "Lines of log files.", List.of(DIRECTORY)); }

  @Override public StructType schema(Settings settings) { return StructType.fromDDL("file STRING, line STRING"); }
  @Override public String identity(Settings settings) { return settings.get(DIRECTORY); }
  @Override public PositionFormat<SortedMap<String, Long>> positions() { return PositionFormat.numbers(); }
  @Override public Origin<SortedMap<String, Long>> open(Settings settings, StructType schema) {
    return new Directory(Path.of(settings.get(DIRECTORY)), settings, schema);
  }

  record Directory(Path path, Settings settings, StructType schema) implements Origin<SortedMap<String, Long>> {
    @Override public SortedMap<String, Long> first() { return new TreeMap<>(); }

    @Override public Available<SortedMap<String, Long>> available(SortedMap<String, Long> start, long maxRows) throws IOException {
      var end = new TreeMap<>(start);
      long rows = 0;
      try (var files = Files.list(path)) {
        for (Path file : files.filter(one -> one.toString().endsWith(".log")).sorted().toList()) {
          String name = file.getFileName().toString();
          long from = start.getOrDefault(name, 0L);
          if (Files.size(file) < from)
            throw settings.failure("LOG_FILE_CUT", file + " is shorter than what was read of it.", "Rotate by another name.");
          try (var lines = new Lines(file, from)) {
            while (rows < maxRows && lines.next() != null) rows++;
            if (lines.position > from) end.put(name, lines.position);
          }
        }
      }
      return new Available<>(end, rows, rows < maxRows);
    }

    @Override public List<PositionRange<SortedMap<String, Long>>> split(
        SortedMap<String, Long> start, SortedMap<String, Long> end, int parts) {
      return end.keySet().stream().filter(file -> !end.get(file).equals(start.get(file)))
          .map(file -> new PositionRange<>(at(file, start.getOrDefault(file, 0L)), at(file, end.get(file)))).toList();
    }

    private static SortedMap<String, Long> at(String file, long bytes) { return new TreeMap<>(Map.of(file, bytes)); }

    @Override public RowReader read(PositionRange<SortedMap<String, Long>> range) throws IOException {
      String file = range.end().firstKey();
      var lines = new Lines(path.resolve(file), range.start().get(file));
      long end = range.end().get(file);
      return RowReader.of(schema, () -> lines.position < end ? new Object[] {file, lines.next()} : null, lines);
    }
  }
}
