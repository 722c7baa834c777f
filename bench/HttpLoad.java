import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Posts records of NDJSON over keep-alive connections, as fast as they are acknowledged or at a rate, and prints one line:
 * records a second, then the 50th, 99th and 100th percentile of the acknowledgement in milliseconds.
 *
 * <p>{@code java HttpLoad.java port connections recordsPerRequest seconds recordsPerSecond(0: no limit)}
 */
public final class HttpLoad {
  private static final String RECORD = "{\"id\":1%08d,\"name\":\"a name of someone\",\"page\":\"/docs/index.html\",\"at\":1767225600}\n";

  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[0]);
    int connections = Integer.parseInt(args[1]);
    int perRequest = Integer.parseInt(args[2]);
    double seconds = Double.parseDouble(args[3]);
    double rate = Double.parseDouble(args[4]);
    byte[] request = request(perRequest);
    run(port, connections, request, 3, rate / perRequest); // Warm-up of the listener's JVM.
    long begin = System.nanoTime();
    long[] nanos = run(port, connections, request, seconds, rate / perRequest);
    double took = (System.nanoTime() - begin) / 1e9;
    Arrays.sort(nanos);
    System.out.printf(
        java.util.Locale.ROOT, "%.0f %.2f %.2f %.2f%n",
        nanos.length * (double) perRequest / took, at(nanos, 0.5), at(nanos, 0.99), at(nanos, 1));
  }

  private static double at(long[] sorted, double share) {
    return sorted[(int) Math.min(sorted.length - 1, Math.floor(sorted.length * share))] / 1e6;
  }

  private static byte[] request(int records) {
    StringBuilder body = new StringBuilder();
    for (int i = 0; i < records; i++) body.append(String.format(java.util.Locale.ROOT, RECORD, i));
    String head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: " + body.length() + "\r\n\r\n";
    return (head + body).getBytes(StandardCharsets.US_ASCII);
  }

  /** The durations of all acknowledged requests, in nanoseconds. */
  private static long[] run(int port, int connections, byte[] request, double seconds, double requestsPerSecond) throws Exception {
    long[][] found = new long[connections][];
    Thread[] threads = new Thread[connections];
    CountDownLatch ready = new CountDownLatch(connections);
    AtomicLong next = new AtomicLong();
    long begin = System.nanoTime() + 50_000_000L;
    long end = begin + (long) (seconds * 1e9);
    for (int c = 0; c < connections; c++) {
      int connection = c;
      threads[c] = new Thread(() -> {
        try (Socket socket = new Socket("127.0.0.1", port)) {
          socket.setTcpNoDelay(true);
          OutputStream out = socket.getOutputStream();
          DataInputStream in = new DataInputStream(new java.io.BufferedInputStream(socket.getInputStream()));
          long[] nanos = new long[1024];
          int count = 0;
          long due = begin;
          LockSupport.parkNanos(begin - System.nanoTime());
          while (System.nanoTime() < end) {
            if (requestsPerSecond > 0) {
              due = begin + (long) (next.getAndIncrement() * 1e9 / requestsPerSecond);
              long wait;
              while ((wait = due - System.nanoTime()) > 0) LockSupport.parkNanos(wait);
            }
            long sent = System.nanoTime();
            out.write(request);
            while (!respond(in)) { // The journal is full or busy: the time until the records are accepted counts.
              LockSupport.parkNanos(20_000_000L);
              out.write(request);
            }
            if (count == nanos.length) nanos = Arrays.copyOf(nanos, count * 2);
            nanos[count++] = System.nanoTime() - sent;
          }
          found[connection] = Arrays.copyOf(nanos, count);
        } catch (IOException e) {
          throw new RuntimeException(e);
        }
      });
      threads[c].start();
    }
    for (Thread thread : threads) thread.join();
    return Arrays.stream(found).flatMapToLong(Arrays::stream).toArray();
  }

  /** Whether the response acknowledges the request; false if the client must retry later. */
  private static boolean respond(DataInputStream in) throws IOException {
    String status = line(in);
    int length = 0;
    for (String header = line(in); !header.isEmpty(); header = line(in))
      if (header.regionMatches(true, 0, "content-length:", 0, 15)) length = Integer.parseInt(header.substring(15).trim());
    byte[] body = in.readNBytes(length);
    if (!status.contains(" 200") && !status.contains(" 429") && !status.contains(" 503")) throw new IOException(status + ": " + new String(body, StandardCharsets.UTF_8));
    return status.contains(" 200");
  }

  private static String line(DataInputStream in) throws IOException {
    StringBuilder text = new StringBuilder(64);
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) throw new IOException("the connection ended");
      if (b != '\r') text.append((char) b);
    }
    return text.toString();
  }
}
