package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;

/**
 * What an origin has after a position.
 *
 * @param end the position after the last of these rows: where there is none, the start position, or one behind what holds no rows
 * @param rows how many rows lie between the start position and {@code end}; never more than were asked for
 * @param atEnd whether the origin has no row behind {@code end} now. Where it is false, the origin is asked again without delay
 */
@Stable
public record Available<P>(P end, long rows, boolean atEnd) {

  /** No row lies behind a position. */
  public static <P> Available<P> none(P start) {
    return new Available<>(start, 0L, true);
  }
}
