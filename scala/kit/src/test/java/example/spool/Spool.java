package example.spool;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.epochal.core.option.OptionSpec;
import io.epochal.kit.connector.*;
import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.stream.Stream;
import org.apache.spark.sql.types.StructType;

/** format("spool"): the files of a directory, each once, in the order of their names. Those that are safe are deleted. */
public final class Spool extends ReceivingConnector<String> {
  private static final OptionSpec<String> DIRECTORY = Options.text("directory", "Where the files are.").asRequired();

  public Spool() { super("spool", "Files of a spool directory.", List.of(DIRECTORY)); }

  @Override public StructType schema(Settings settings) { return StructType.fromDDL("text STRING"); }
  @Override public String identity(Settings settings) { return settings.get(DIRECTORY); }
  @Override public PositionFormat<String> positions() { return PositionFormat.text(); }
  @Override public Receiver<String> open(Settings settings, StructType schema) {
    return new Directory(Path.of(settings.get(DIRECTORY)));
  }
  @Override public RecordDecoder decoder(Settings settings, StructType schema) {
    return record -> new Object[] {new String(record, UTF_8)};
  }

  /** A cursor is the name of the last file. */
  record Directory(Path path) implements Receiver<String> {
    @Override public String first() { return ""; }

    @Override public Received<String> receive(String cursor, int maxRecords) throws IOException {
      var records = new ArrayList<byte[]>();
      var next = cursor;
      for (String name : names()) {
        if (name.compareTo(cursor) > 0 && records.size() < maxRecords) {
          records.add(Files.readAllBytes(path.resolve(name)));
          next = name;
        }
      }
      return new Received<>(records, next, records.size() < maxRecords);
    }

    @Override public void release(String cursor) throws IOException {
      for (String name : names()) if (name.compareTo(cursor) <= 0) Files.delete(path.resolve(name));
    }

    @Override public void close() {}

    private List<String> names() throws IOException {
      try (Stream<Path> files = Files.list(path)) {
        return files.map(file -> file.getFileName().toString()).sorted().toList();
      }
    }
  }
}
