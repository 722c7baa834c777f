package example.logs;

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;

/** The complete lines of a file from a byte on. */
final class Lines implements Closeable {
  private final InputStream in;
  long position;

  Lines(Path file, long position) throws IOException {
    this.in = new BufferedInputStream(Files.newInputStream(file));
    this.position = position;
    in.skipNBytes(position);
  }

  /** The next line; null if no line is complete, because it may still be being written. */
  String next() throws IOException {
    var line = new ByteArrayOutputStream();
    for (int b = in.read(); b >= 0; b = in.read()) {
      if (b == '\n') {
        position += line.size() + 1;
        return line.toString(StandardCharsets.UTF_8);
      }
      line.write(b);
    }
    return null;
  }

  @Override public void close() throws IOException { in.close(); }
}
