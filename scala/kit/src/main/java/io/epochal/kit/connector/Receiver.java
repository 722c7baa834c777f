package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;
import java.util.Map;

/**
 * An origin that cannot repeat its records, such as a queue that deletes what it has delivered. Its records are journalled
 * beside the checkpoint, and planned, read and replayed from the journal. Runs on the driver, for the life of a stream; one
 * thread at a time.
 *
 * <p>At least once on the way into the journal: if a run dies after {@link #receive} and before the synced journal covers the
 * records (in micro-batches: before Spark's offset log does), they are received again, from the cursor of the last offset.
 * Records that the origin deletes before {@link #release} are then lost.
 *
 * @param <C> a cursor: an immutable value from which the origin continues
 */
@Experimental
@SuppressWarnings("try")
public interface Receiver<C> extends AutoCloseable {

  /** The cursor that a new query begins with. Called once in the life of a query. */
  C first() throws Exception;

  /** Receives at most {@code maxRecords} records after a cursor, without waiting for any. They are held in memory. */
  Received<C> receive(C cursor, int maxRecords) throws Exception;

  /**
   * Reports that the records before a cursor are in the synced journal and that Spark has logged an offset behind them: the
   * origin may delete them. Calls may repeat a cursor.
   */
  default void release(C cursor) throws Exception {}

  /** As {@link Origin#metrics}. */
  default Map<String, String> metrics() {
    return Map.of();
  }

  @Override
  default void close() throws Exception {}
}
