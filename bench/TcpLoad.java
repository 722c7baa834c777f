import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * Writes lines of 100 bytes over TCP, as fast as they are acknowledged or at a rate, and prints one line: lines a second, then the
 * 50th, 99th and 100th percentile of the acknowledgement in milliseconds.
 *
 * <p>The listener sends {@code OK n} when it has stored n lines of a connection. At a rate, times count from the moment a write
 * was due. All lines must be acknowledged when a run ends.
 *
 * <p>{@code java TcpLoad.java port connections linesPerWrite seconds linesPerSecond(0: no limit)}
 */
public final class TcpLoad {
  private static final int LINE = 100;

  /** Maximum unacknowledged lines of a connection: those that a client could send again. */
  private static final int WINDOW = 8192;

  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    int connections = Integer.parseInt(args[1]);
    int perWrite = Integer.parseInt(args[2]);
    double seconds = Double.parseDouble(args[3]);
    double rate = Double.parseDouble(args[4]);
    run(port, connections, perWrite, Math.max(3, seconds / 2), rate); // Warm-up of the listener's JVM.
    long begin = System.nanoTime();
    long[] nanos = run(port, connections, perWrite, seconds, rate);
    double took = (System.nanoTime() - begin) / 1e9;
    Arrays.sort(nanos);
    System.out.printf(
        java.util.Locale.ROOT, "%.0f %.2f %.2f %.2f%n",
        nanos.length * (double) perWrite / took, at(nanos, 0.5), at(nanos, 0.99), at(nanos, 1));
  }

  private static double at(long[] sorted, double share) {
    return sorted[(int) Math.min(sorted.length - 1, Math.floor(sorted.length * share))] / 1e6;
  }

  /** The durations of all writes to the acknowledgement of their last lines, in nanoseconds. */
  private static long[] run(int port, int connections, int perWrite, double seconds, double rate) throws Exception {
    Connection[] all = new Connection[connections];
    CountDownLatch go = new CountDownLatch(1);
    for (int c = 0; c < connections; c++) all[c] = new Connection(port, perWrite, seconds, rate / perWrite / connections, go);
    go.countDown();
    for (Connection one : all) one.end();
    return Arrays.stream(all).flatMapToLong(one -> Arrays.stream(one.nanos, 0, one.acknowledged)).toArray();
  }

  /** One thread writes, and one reads. */
  private static final class Connection {
    private final Socket socket;
    private final Thread writer;
    private final Thread reader;
    private final int perWrite;
    private volatile long[] due = new long[1 << 12];
    private volatile int sent;
    private volatile boolean done;
    private volatile Exception failed;
    long[] nanos = new long[1 << 12];
    volatile int acknowledged;

    Connection(int port, int perWrite, double seconds, double writesPerSecond, CountDownLatch go) throws IOException {
      this.perWrite = perWrite;
      socket = new Socket("127.0.0.1", port);
      socket.setTcpNoDelay(true);
      writer = new Thread(() -> guarded(() -> { go.await(); write(seconds, writesPerSecond); }));
      reader = new Thread(() -> guarded(this::read));
      writer.start();
      reader.start();
    }

    void end() throws Exception {
      writer.join();
      reader.join();
      socket.close();
      if (failed != null) throw failed;
    }

    private void write(double seconds, double writesPerSecond) throws IOException {
      byte[] block = block(perWrite);
      OutputStream out = socket.getOutputStream();
      long begin = System.nanoTime();
      long end = begin + (long) (seconds * 1e9);
      double phase = ThreadLocalRandom.current().nextDouble();
      for (int n = 0; System.nanoTime() < end; n++) {
        long at = System.nanoTime();
        if (writesPerSecond > 0) {
          at = begin + (long) ((n + phase) * 1e9 / writesPerSecond);
          for (long wait; (wait = at - System.nanoTime()) > 0; ) LockSupport.parkNanos(wait);
        } else {
          while ((long) (n - acknowledged) * perWrite > WINDOW - perWrite && failed == null) LockSupport.parkNanos(50_000L);
          at = System.nanoTime();
        }
        long[] times = due;
        if (n == times.length) due = times = Arrays.copyOf(times, n * 2);
        times[n] = at;
        sent = n + 1;
        out.write(block);
      }
      done = true;
      socket.shutdownOutput();
    }

    /** Evaluates only the last of several acknowledgements that arrived together. */
    private void read() throws IOException {
      InputStream in = socket.getInputStream();
      byte[] block = new byte[1 << 16];
      String text = "";
      for (int count; (count = in.read(block)) > 0; ) {
        long now = System.nanoTime();
        text = (text + new String(block, 0, count, StandardCharsets.US_ASCII));
        int end = text.lastIndexOf('\n');
        if (end < 0) continue;
        String last = text.substring(text.lastIndexOf('\n', end - 1) + 1, end);
        text = text.substring(end + 1);
        if (!last.startsWith("OK ")) throw new IOException("the listener said " + last);
        int until = (int) (Long.parseLong(last.substring(3)) / perWrite);
        if (until > nanos.length) nanos = Arrays.copyOf(nanos, Math.max(until, nanos.length * 2));
        for (int n = acknowledged; n < until; n++) nanos[n] = now - due[n];
        acknowledged = until;
      }
      if (!done || acknowledged != sent) throw new IOException(acknowledged + " of " + sent + " writes were acknowledged");
    }

    private void guarded(Step step) {
      try {
        step.run();
      } catch (Exception e) {
        failed = e;
        try {
          socket.close();
        } catch (IOException ignored) {
          // The connection is closed.
        }
      }
    }
  }

  private interface Step {
    void run() throws Exception;
  }

  private static byte[] block(int lines) {
    StringBuilder text = new StringBuilder();
    for (int n = 0; n < lines; n++) {
      String line = String.format(java.util.Locale.ROOT, "2026-01-01T00:00:00Z host-17 service[4711]: request %08d served in 12 ms with status 200 and ", n);
      text.append(line).append("x".repeat(LINE - 1 - line.length())).append('\n');
    }
    return text.toString().getBytes(StandardCharsets.US_ASCII);
  }
}
