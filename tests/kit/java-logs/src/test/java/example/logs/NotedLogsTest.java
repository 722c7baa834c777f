package example.logs;

import static org.junit.jupiter.api.Assertions.*;

import io.epochal.kit.connector.*;
import io.epochal.testkit.Conformance;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** The suite finds a source that keeps its position outside the checkpoint. */
final class NotedLogsTest {

  @Test void positionOutsideTheCheckpoint() {
    var all = Conformance.source("noted logs", () -> newFixture(NotedLogs.class.getName()));
    var report = all.only("idempotent-plan", "replay", "checkpoint-alone", "restarts").run();
    var broken = report.broken().stream().map(found -> found.promise().name()).toList();
    assertEquals(List.of("checkpoint-alone"), broken, report::toString);
    assertEquals(3, report.kept().size(), report::toString);
    assertThrows(AssertionError.class, report::assertAll);
  }

  private static LogFixture newFixture(String format) {
    try {
      return new LogFixture(format);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Wrong: keeps the delivered position beside the logs and ignores the checkpoint. */
  public static final class NotedLogs extends SourceConnector<SortedMap<String, Long>> {
    private final LogFiles right = new LogFiles();

    public NotedLogs() { super("noted", "Lines.", List.of(Options.text("directory", "Where the files are."))); }

    @Override public StructType schema(Settings settings) { return right.schema(settings); }
    @Override public String identity(Settings settings) { return right.identity(settings); }
    @Override public PositionFormat<SortedMap<String, Long>> positions() { return right.positions(); }
    @Override public Origin<SortedMap<String, Long>> open(Settings settings, StructType schema) {
      return new Noted(right.open(settings, schema), Path.of(right.identity(settings), "delivered"));
    }
  }

  private record Noted(Origin<SortedMap<String, Long>> logs, Path note) implements Origin<SortedMap<String, Long>> {
    @Override public SortedMap<String, Long> first() throws Exception { return logs.first(); }

    @Override public Available<SortedMap<String, Long>> available(SortedMap<String, Long> start, long maxRows)
        throws Exception {
      return logs.available(start, maxRows);
    }

    @Override public List<PositionRange<SortedMap<String, Long>>> split(
        SortedMap<String, Long> start, SortedMap<String, Long> end, int parts) {
      return logs.split(later(start), end, parts);
    }

    @Override public RowReader read(PositionRange<SortedMap<String, Long>> range) throws Exception {
      return logs.read(range);
    }

    @Override public void release(SortedMap<String, Long> end) throws IOException {
      var delivered = later(end);
      try (var out = new ObjectOutputStream(Files.newOutputStream(note))) {
        out.writeObject(delivered);
      }
    }

    @SuppressWarnings("unchecked")
    private SortedMap<String, Long> later(SortedMap<String, Long> position) {
      var later = new TreeMap<>(position);
      if (!Files.exists(note)) return later;
      try (var in = new ObjectInputStream(Files.newInputStream(note))) {
        ((Map<String, Long>) in.readObject()).forEach((file, bytes) -> later.merge(file, bytes, Math::max));
      } catch (IOException | ClassNotFoundException e) {
        throw new IllegalStateException(e);
      }
      return later;
    }
  }
}
