package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;
import java.util.List;
import java.util.Optional;

/**
 * An origin whose rows can be followed: its connector says {@link SourceConnector#tails}, and then also runs in continuous and
 * real-time queries. They have the same positions, and go on from each other's as far as Spark allows it.
 */
@Experimental
@SuppressWarnings("try")
public interface TailOrigin<P> extends Origin<P> {

  /**
   * Where tasks begin to follow the rows after a position: one position for each task. The default is one task.
   *
   * @param parts how many tasks run at the same time; no more may be returned
   */
  default List<P> tails(P start, int parts) {
    return List.of(start);
  }

  /** Follows the rows after one of these positions, in a task. */
  TailReader<P> tail(P start) throws Exception;

  /**
   * The position after all that the tasks have delivered: one {@link TailReader#position} of each, in the order of {@link #tails}.
   * To be written wherever there is more than one task.
   */
  default P merge(List<P> ends) {
    if (ends.size() != 1) throw new IllegalStateException("merge must be written for more than one task");
    return ends.get(0);
  }

  /**
   * Whether {@link #tails} would share the rows out in another way than it did: the origin has more parts than before, say. A continuous
   * query then plans its tasks anew at the end of an epoch; a real-time query does so at each of its epochs. Asked often, by any thread:
   * a look at a field.
   */
  default boolean tailsChanged() {
    return false;
  }

  /** What lies after a position, for the lag in the progress of an epoch that ended there. To be left empty where looking is slow. */
  default Optional<Available<P>> lookAhead(P end) throws Exception {
    return Optional.empty();
  }
}
