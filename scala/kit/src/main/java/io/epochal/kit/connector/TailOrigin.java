package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;
import java.util.List;
import java.util.Optional;

/**
 * An origin whose rows can be followed, for connectors with {@link SourceConnector#tails}: it also runs in continuous and
 * real-time queries. All triggers share the same positions, so a query can change its trigger as far as Spark allows it.
 */
@Experimental
@SuppressWarnings("try")
public interface TailOrigin<P> extends Origin<P> {

  /**
   * The positions from which tasks follow the rows after {@code start}, one for each task. The default is one task.
   *
   * <p>Contract: after {@link #merge} they are the positions at which the tasks ended, in any order, until {@link #tailsChanged}.
   * A sink that stores rows in the middle of an epoch recognises them by their place in their task, so a task must continue
   * where it was. If the positions are others, the sink refuses the start while such rows are not delivered again
   * ({@code ROWS_OWED}).
   *
   * @param parts how many tasks run at the same time; no more may be returned
   */
  default List<P> tails(P start, int parts) {
    return List.of(start);
  }

  /** Follows the rows after one of these positions, in a task. */
  TailReader<P> tail(P start) throws Exception;

  /**
   * The position after everything that the tasks have delivered. Override it if there is more than one task.
   *
   * @param ends one {@link TailReader#position} of each task, in the order of {@link #tails}
   */
  default P merge(List<P> ends) {
    if (ends.size() != 1) throw new IllegalStateException("merge must be written for more than one task");
    return ends.get(0);
  }

  /**
   * Whether {@link #tails} would now divide the rows differently, for example because the origin has more partitions than
   * before. A continuous query then plans its tasks again at the end of an epoch; a real-time query does so at every epoch.
   * Called often and by any thread, so it should only read a field.
   */
  default boolean tailsChanged() {
    return false;
  }

  /**
   * The rows after a position, for the lag in the progress of the epoch that ended there. Leave it empty if looking is slow.
   */
  default Optional<Available<P>> lookAhead(P end) throws Exception {
    return Optional.empty();
  }
}
