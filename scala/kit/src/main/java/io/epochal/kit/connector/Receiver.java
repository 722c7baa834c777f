package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;
import java.util.Map;

/**
 * An origin that cannot be asked twice, such as a queue that forgets what it has handed out: what it gives is journalled beside the
 * checkpoint, and planned, read and replayed from there. On the driver, for the life of a stream; one thread at a time.
 *
 * <p>At least once on the way into the journal: a run that dies after {@link #receive} and before the journal is synced and names
 * them (in micro-batches Spark's offset log does) has its records received again, from the cursor of the last offset. What the origin
 * forgets before {@link #release} is lost then.
 *
 * @param <C> a cursor: an immutable value that says where the origin is asked next
 */
@Experimental
@SuppressWarnings("try")
public interface Receiver<C> extends AutoCloseable {

  /** The cursor that a new query begins with. Asked once in the life of a query. */
  C first() throws Exception;

  /** Receives the records after a cursor, and no more than {@code maxRecords}; waits for none. They are held in memory. */
  Received<C> receive(C cursor, int maxRecords) throws Exception;

  /**
   * Says that the records before a cursor are in the journal, synced, and that Spark has logged an offset behind them: the origin may
   * forget them. It may be said twice.
   */
  default void release(C cursor) throws Exception {}

  /** As {@link Origin#metrics}. */
  default Map<String, String> metrics() {
    return Map.of();
  }

  @Override
  default void close() throws Exception {}
}
