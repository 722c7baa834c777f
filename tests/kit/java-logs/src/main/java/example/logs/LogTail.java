package example.logs;

import io.epochal.core.option.OptionSpec;
import io.epochal.kit.connector.*;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** format("log-tail"): the lines of one log file, also in continuous and real-time queries. A position is the bytes read. */
public final class LogTail extends SourceConnector<Long> {
  private static final OptionSpec<String> FILE = Options.text("file", "The log file.").asRequired();

  public LogTail() { super("log-tail", "Lines of a log file.", List.of(FILE)); }

  @Override public StructType schema(Settings settings) { return StructType.fromDDL("line STRING"); }
  @Override public String identity(Settings settings) { return settings.get(FILE); }
  @Override public PositionFormat<Long> positions() { return PositionFormat.number(); }

  @Override public boolean tails() { return true; }
  @Override public TailOrigin<Long> open(Settings settings, StructType schema) {
    return new LogFile(Path.of(settings.get(FILE)), schema);
  }

  record LogFile(Path path, StructType schema) implements TailOrigin<Long> {
    @Override public Long first() { return 0L; }

    @Override public Available<Long> available(Long start, long maxRows) throws IOException {
      try (var lines = new Lines(path, start)) {
        long rows = 0;
        while (rows < maxRows && lines.next() != null) rows++;
        return new Available<>(lines.position, rows, rows < maxRows);
      }
    }

    @Override public RowReader read(PositionRange<Long> range) throws IOException {
      var lines = new Lines(path, range.start());
      return RowReader.of(schema, () -> lines.position < range.end() ? new Object[] {lines.next()} : null, lines);
    }

    @Override public TailReader<Long> tail(Long start) throws IOException { return new Tail(path, start); }
  }

  /** The lines after a position, in a task without an end. */
  static final class Tail implements TailReader<Long> {
    private final Path path;
    private Lines lines;
    private String line;

    Tail(Path path, long start) throws IOException {
      this.path = path;
      this.lines = new Lines(path, start);
    }

    @Override public boolean next(long timeoutMillis) throws IOException, InterruptedException {
      long begin = System.nanoTime();
      while ((line = lines.next()) == null) {
        lines.close();
        lines = new Lines(path, lines.position); // it may have read a part of a line
        if ((System.nanoTime() - begin) / 1_000_000 >= timeoutMillis) return false;
        Thread.sleep(5);
      }
      return true;
    }

    @Override public InternalRow get() { return new GenericInternalRow(new Object[] {UTF8String.fromString(line)}); }
    @Override public Long position() { return lines.position; }
    @Override public void close() throws IOException { lines.close(); }
  }
}
