package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import java.util.ArrayList;
import java.util.List;

/**
 * The rows of one task: those after {@code start}, up to and including the last one before {@code end}. Both positions are
 * exclusive: a position lies after the last row delivered.
 */
@Stable
public record PositionRange<P>(P start, P end) {

  /** Divides a range of numbers into at most {@code parts} equal, non-empty ranges. Depends on its arguments only. */
  public static List<PositionRange<Long>> split(long start, long end, int parts) {
    List<PositionRange<Long>> shares = new ArrayList<>();
    long rows = end - start;
    long count = Math.min(Math.max(parts, 1), rows);
    for (long i = 0; i < count; i++) {
      long from = start + rows / count * i + Math.min(i, rows % count);
      long until = from + rows / count + (i < rows % count ? 1 : 0);
      shares.add(new PositionRange<>(from, until));
    }
    return shares;
  }
}
