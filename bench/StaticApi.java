import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;

/**
 * A paginated API with minimal cost: one thread, and pages that are generated once, in which only the ids change.
 *
 * <p>{@code java StaticApi.java <records> [<milliseconds>]} prints the port and serves {@code GET /comments?_start=S&_limit=N}
 * until its standard input ends; each response starts the given milliseconds after its request. Record i has the id
 * 10000000 + i; a page of 100 records has 29 KB.
 */
final class StaticApi {
  private static final int FIRST_ID = 10_000_000;
  private static final int MAX_PAGE = 1000;
  private static final byte[] END = "]".getBytes(StandardCharsets.US_ASCII);

  private final long records;
  private final long latencyNanos;
  private final ArrayDeque<SelectionKey> late = new ArrayDeque<>();
  private final byte[] page;
  private final int[] recordStart = new int[MAX_PAGE + 1];
  private final int idAt;

  public static void main(String[] args) throws Exception {
    StaticApi api = new StaticApi(Long.parseLong(args[0]), args.length > 1 ? Long.parseLong(args[1]) : 0);
    ServerSocketChannel server = ServerSocketChannel.open();
    server.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 1024);
    System.out.println(((InetSocketAddress) server.getLocalAddress()).getPort());
    Thread parent = new Thread(StaticApi::exitWithParent);
    parent.setDaemon(true);
    parent.start();
    api.serve(server);
  }

  private static void exitWithParent() {
    try {
      while (System.in.read() >= 0) {}
    } catch (java.io.IOException closed) {
      // The parent process has ended.
    }
    System.exit(0);
  }

  private StaticApi(long records, long latencyMillis) {
    this.records = records;
    this.latencyNanos = latencyMillis * 1_000_000;
    StringBuilder text = new StringBuilder("[");
    int at = 0;
    for (int i = 0; i < MAX_PAGE; i++) {
      recordStart[i] = text.length();
      text.append("{\"postId\":").append(1000 + i % 100).append(",\"id\":");
      if (i == 0) at = text.length() - 1;
      text.append(FIRST_ID).append(",\"name\":\"name of the comment ").append(1000 + i);
      text.append("\",\"email\":\"someone.").append(1000 + i).append("@example.com\",\"body\":\"");
      text.append("laudantium enim quasi est quidem magnam voluptate ipsam eos tempora quo necessitatibus dolor ");
      text.append("quam autem quasi reiciendis et nam sapiente accusantium est nihil at ut sed fugit autem\"},");
    }
    recordStart[MAX_PAGE] = text.length();
    idAt = at;
    page = text.toString().getBytes(StandardCharsets.US_ASCII);
  }

  private void serve(ServerSocketChannel server) throws Exception {
    Selector selector = Selector.open();
    server.configureBlocking(false);
    server.register(selector, SelectionKey.OP_ACCEPT);
    while (true) {
      selector.select(untilNextIsDue());
      for (SelectionKey key = due(); key != null; key = due()) write(key);
      for (SelectionKey key : selector.selectedKeys()) {
        if (key.isAcceptable()) {
          SocketChannel client = server.accept();
          client.configureBlocking(false);
          client.socket().setTcpNoDelay(true);
          client.register(selector, SelectionKey.OP_READ, new Connection());
        } else {
          advance(key);
        }
      }
      selector.selectedKeys().clear();
    }
  }

  /** Milliseconds, rounded up; 0 if no connection waits. */
  private long untilNextIsDue() {
    if (late.isEmpty()) return 0;
    long nanos = ((Connection) late.peek().attachment()).due - System.nanoTime();
    return Math.max(1, (nanos + 999_999) / 1_000_000);
  }

  /** The next connection whose response is due, or null. */
  private SelectionKey due() {
    boolean isDue = !late.isEmpty() && ((Connection) late.peek().attachment()).due <= System.nanoTime();
    return isDue ? late.poll() : null;
  }

  private static final class Connection {
    long due;
    final ByteBuffer in = ByteBuffer.allocateDirect(16 << 10);
    ByteBuffer out = ByteBuffer.allocateDirect(512 << 10).limit(0);
    final byte[] head = new byte[16 << 10];
  }

  private void advance(SelectionKey key) {
    SocketChannel channel = (SocketChannel) key.channel();
    Connection connection = (Connection) key.attachment();
    try {
      if (key.isReadable()) {
        if (channel.read(connection.in) < 0) {
          channel.close();
          return;
        }
        answer(connection);
        if (latencyNanos > 0 && connection.out.hasRemaining()) {
          connection.due = System.nanoTime() + latencyNanos;
          late.add(key);
          key.interestOps(0);
          return;
        }
      }
    } catch (java.io.IOException broken) {
      close(key);
      return;
    }
    write(key);
  }

  private static void write(SelectionKey key) {
    Connection connection = (Connection) key.attachment();
    try {
      ((SocketChannel) key.channel()).write(connection.out);
      key.interestOps(connection.out.hasRemaining() ? SelectionKey.OP_WRITE : SelectionKey.OP_READ);
    } catch (java.io.IOException | java.nio.channels.CancelledKeyException broken) {
      close(key);
    }
  }

  private static void close(SelectionKey key) {
    key.cancel();
    try {
      key.channel().close();
    } catch (java.io.IOException ignored) {
      // The connection is closed.
    }
  }

  /** Responds to the request in the buffer once its head is complete. Clients do not pipeline requests. */
  private void answer(Connection connection) {
    ByteBuffer in = connection.in;
    int length = in.position();
    if (length < 4 || in.getInt(length - 4) != 0x0d0a0d0a) return;
    in.flip();
    in.get(connection.head, 0, length);
    in.clear();
    long start = parameter(connection.head, length, "_start=");
    int limit = (int) Math.min(MAX_PAGE, parameter(connection.head, length, "_limit="));
    int count = (int) Math.max(0, Math.min(limit, records - start));
    for (int i = 0; i < count; i++) {
      int id = (int) (FIRST_ID + start + i);
      int digit = idAt + recordStart[i];
      for (int d = digit + 7; d >= digit; d--, id /= 10) page[d] = (byte) ('0' + id % 10);
    }
    int body = count == 0 ? 1 : recordStart[count] - 1;
    ByteBuffer out = connection.out.clear();
    String head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + (body + 1) + "\r\n\r\n";
    out.put(head.getBytes(StandardCharsets.US_ASCII)).put(page, 0, body).put(END).flip();
  }

  private static long parameter(byte[] head, int length, String name) {
    for (int i = 0; i < length - name.length() && head[i] != '\r'; i++) {
      int j = 0;
      while (j < name.length() && head[i + j] == name.charAt(j)) j++;
      if (j == name.length()) {
        long value = 0;
        for (int k = i + j; head[k] >= '0' && head[k] <= '9'; k++) value = value * 10 + head[k] - '0';
        return value;
      }
    }
    return Integer.MAX_VALUE;
  }
}
