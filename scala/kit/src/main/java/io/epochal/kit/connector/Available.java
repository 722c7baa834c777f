package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;

/**
 * The rows that an origin has after a position.
 *
 * @param end the position after the last of these rows. If there are none: the start position, or a later one if no rows lie
 *     between
 * @param rows how many rows lie between the start position and {@code end}; at most the requested maximum
 * @param atEnd whether the origin has no row after {@code end} now. If false, the next call follows without delay
 */
@Stable
public record Available<P>(P end, long rows, boolean atEnd) {

  /** No rows lie after a position. */
  public static <P> Available<P> none(P start) {
    return new Available<>(start, 0L, true);
  }
}
