package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import java.util.List;
import java.util.Map;

/**
 * The system that rows are read from, as it was opened with the options of one query. {@link SourceConnector#open} makes one on the
 * driver, for the life of a stream, and one for each task, in which only {@link #read} is called. One thread uses it at a time.
 *
 * <p>What it must keep to: the rows between two positions are the same whenever they are asked for, after a restart and on another
 * machine. What an origin cannot give twice is received with a journal instead ({@link Receiver}).
 *
 * @param <P> a position: an immutable value with {@code equals}. It is exclusive: it lies after the last row that was delivered
 */
@Stable
@SuppressWarnings("try")
public interface Origin<P> extends AutoCloseable {

  /** The position before the first row that a new query is to deliver. Asked once in the life of a query. */
  P first() throws Exception;

  /**
   * Finds the end: what lies after {@code start} now, from what the origin holds and never from a clock.
   *
   * <p>What it returns may be read from then on, so a row that is not yet complete (a line without its line break) does not count.
   *
   * @param maxRows how many rows are wanted at the most. {@code Long.MaxValue}: all. An origin that cannot look so far may
   *     return fewer, with {@code atEnd} false
   */
  Available<P> available(P start, long maxRows) throws Exception;

  /**
   * Shares out the rows between two positions among tasks. Depends on nothing but its arguments.
   *
   * @param parts how many tasks run at the same time; more or fewer ranges may be returned
   */
  default List<PositionRange<P>> split(P start, P end, int parts) {
    return List.of(new PositionRange<>(start, end));
  }

  /** Opens the rows of one range, in a task. They must be the same each time. */
  RowReader read(PositionRange<P> range) throws Exception;

  /**
   * Says that what lies before a position was delivered, so that the origin may let go of it. It may be said twice, and the last
   * few batches may still be read again: an origin that deletes keeps more than {@code end} says.
   */
  default void release(P end) throws Exception {}

  /**
   * Entries of the source's own in each progress of the query. Those that are numbers, or {@code true} and {@code false} (1 and 0), are
   * metrics of Spark too. Asked by any thread.
   */
  default Map<String, String> metrics() {
    return Map.of();
  }

  @Override
  default void close() throws Exception {}
}
