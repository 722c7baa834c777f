import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A sink for every trigger that does not handle replays: it writes the rows of each committed epoch to files.
 *
 * <p>Its rows have one column, a BIGINT. A line of a file is that number and the microseconds since 1970 at which the row came. A
 * task's file lies hidden until the driver commits its epoch: then it is {@code <epoch>-<partition>-<random>}. Options: {@code path};
 * {@code commitMillis}, how long a commit of the driver takes, as one of a database would.
 */
public final class EpochFiles implements TableProvider {

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType().add("id", "bigint");
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Target(schema);
  }

  private record Target(StructType schema) implements Table, SupportsWrite {

    @Override
    public String name() {
      return "epoch-files";
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      CaseInsensitiveStringMap options = info.options();
      FilesWrite files = new FilesWrite(options.get("path"), options.getLong("commitMillis", 0));
      return new Builder(files);
    }
  }

  /** Takes the rows of update mode as those of append mode. */
  private record Builder(StreamingWrite files) implements WriteBuilder, SupportsStreamingUpdateAsAppend {

    @Override
    public Write build() {
      return new Write() {
        @Override
        public StreamingWrite toStreaming() {
          return files;
        }
      };
    }
  }

  private record FilesWrite(String path, long commitMillis) implements StreamingWrite {

    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
      return new Writers(path);
    }

    @Override
    public void commit(long epoch, WriterCommitMessage[] messages) {
      try {
        Thread.sleep(commitMillis);
        for (WriterCommitMessage message : messages) {
          String name = ((Written) message).name();
          Files.move(Path.of(path, "." + name), Path.of(path, name));
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public void abort(long epoch, WriterCommitMessage[] messages) {}

    @Override
    public boolean useCommitCoordinator() {
      return false;
    }
  }

  private record Written(String name) implements WriterCommitMessage {}

  private record Writers(String path) implements StreamingDataWriterFactory {

    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
      return new Writer(path, epoch + "-" + partition + "-" + UUID.randomUUID());
    }
  }

  private static final class Writer implements DataWriter<InternalRow> {
    private final String path;
    private final String name;
    private final List<String> lines = new ArrayList<>();

    Writer(String path, String name) {
      this.path = path;
      this.name = name;
    }

    @Override
    public void write(InternalRow row) {
      java.time.Instant now = java.time.Instant.now();
      lines.add(row.getLong(0) + " " + (now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000));
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
      Files.write(Path.of(path, "." + name), lines);
      return new Written(name);
    }

    @Override
    public void abort() {}

    @Override
    public void close() {}
  }
}
