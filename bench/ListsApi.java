import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * An API with a list of lists: {@code java ListsApi.java <lists> <records> [<milliseconds>]} prints the port and serves {@code
 * /lists?page=P&per_page=N} and {@code /lists/<n>/records}, with ETags, until its standard input ends. Each response takes the
 * given milliseconds. {@code /counts} has the requests since its last call, and those of them that got 304.
 */
final class ListsApi {
  private static final AtomicInteger requests = new AtomicInteger();
  private static final AtomicInteger unchanged = new AtomicInteger();
  private static final AtomicLong first = new AtomicLong();
  private static final AtomicLong last = new AtomicLong();

  public static void main(String[] args) throws Exception {
    int lists = Integer.parseInt(args[0]);
    int records = Integer.parseInt(args[1]);
    long latency = args.length > 2 ? Long.parseLong(args[2]) : 0;
    System.setProperty("sun.net.httpserver.nodelay", "true");
    System.setProperty("sun.net.httpserver.maxIdleConnections", "1000");
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 1024);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/lists", exchange -> {
      first.compareAndSet(0, System.nanoTime());
      requests.incrementAndGet();
      try {
        Thread.sleep(latency);
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
      String[] path = exchange.getRequestURI().getPath().split("/");
      send(exchange, path.length > 2 ? records(path[2], records) : page(exchange.getRequestURI().getQuery(), lists));
      last.set(System.nanoTime());
    });
    server.createContext("/counts", exchange -> {
      long nanos = last.get() - first.getAndSet(0);
      String said = "{\"requests\":%d,\"unchanged\":%d,\"nanos\":%d}".formatted(requests.getAndSet(0), unchanged.getAndSet(0), nanos);
      send(exchange, said);
    });
    server.start();
    System.out.println(server.getAddress().getPort());
    while (System.in.read() >= 0) {}
    System.exit(0);
  }

  private static String page(String query, int lists) {
    int page = 1;
    int size = 100;
    for (String pair : query.split("&")) {
      int value = Integer.parseInt(pair.replaceAll("\\D", ""));
      if (pair.startsWith("page=")) page = value;
      else if (pair.startsWith("per_page=")) size = value;
    }
    StringBuilder text = new StringBuilder("[");
    for (int n = (page - 1) * size; n < Math.min(lists, page * size); n++)
      text.append(n % size == 0 ? "" : ",").append("{\"n\":").append(n).append("}");
    return text.append("]").toString();
  }

  private static String records(String list, int records) {
    StringBuilder text = new StringBuilder("[");
    for (int n = 0; n < records; n++)
      text.append(n == 0 ? "" : ",").append("{\"id\":").append(n).append(",\"name\":\"record of list ").append(list).append("\"}");
    return text.append("]").toString();
  }

  private static void send(HttpExchange exchange, String text) throws IOException {
    // Otherwise the JDK's server closes the connection after the response.
    exchange.getRequestBody().readAllBytes();
    String tag = "\"" + text.hashCode() + "\"";
    exchange.getResponseHeaders().set("ETag", tag);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    if (tag.equals(exchange.getRequestHeaders().getFirst("If-None-Match"))) {
      unchanged.incrementAndGet();
      exchange.sendResponseHeaders(304, -1);
    } else {
      byte[] body = text.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    }
    exchange.getResponseBody().close();
  }
}
