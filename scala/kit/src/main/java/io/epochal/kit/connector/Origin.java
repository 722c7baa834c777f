package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import java.util.List;
import java.util.Map;

/**
 * The system that rows are read from, opened with the options of one query. {@link SourceConnector#open} opens one on the
 * driver, for the life of a stream, and one in each task, where only {@link #read} is called. One thread uses it at a time.
 *
 * <p>Contract: the rows between two positions are the same on every read, after a restart and on another machine. If an origin
 * cannot repeat its rows, implement {@link Receiver}, which journals them.
 *
 * @param <P> a position: an immutable value with {@code equals}. It is exclusive: it lies after the last row delivered
 */
@Stable
@SuppressWarnings("try")
public interface Origin<P> extends AutoCloseable {

  /** The position before the first row of a new query. Called once in the life of a query. */
  P first() throws Exception;

  /**
   * Finds the end of the rows after {@code start}, from what the origin holds and never from a clock.
   *
   * <p>The rows up to the returned end may be read from then on, so an incomplete row (a line without its line break) does not
   * count.
   *
   * @param maxRows the maximum number of rows; {@code Long.MaxValue} means all. An origin that cannot look that far may return
   *     fewer, with {@code atEnd} false
   */
  Available<P> available(P start, long maxRows) throws Exception;

  /**
   * Divides the rows between two positions among tasks. Depends on its arguments only.
   *
   * @param parts how many tasks run at the same time; more or fewer ranges may be returned
   */
  default List<PositionRange<P>> split(P start, P end, int parts) {
    return List.of(new PositionRange<>(start, end));
  }

  /** Opens the rows of one range, in a task. Every call returns the same rows. */
  RowReader read(PositionRange<P> range) throws Exception;

  /**
   * Reports that the rows before a position are delivered, so that the origin may delete them. Calls may repeat a position, and
   * the last few batches may still be read again: an origin that deletes rows keeps some before {@code end}.
   */
  default void release(P end) throws Exception {}

  /**
   * The source's own entries in the progress of the query. Numbers, {@code true} and {@code false} (1 and 0) are published as
   * Spark metrics too. Called by any thread.
   */
  default Map<String, String> metrics() {
    return Map.of();
  }

  @Override
  default void close() throws Exception {}
}
