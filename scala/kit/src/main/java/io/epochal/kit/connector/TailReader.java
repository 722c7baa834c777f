package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;
import org.apache.spark.sql.catalyst.InternalRow;

/** Rows of one task that has no end. A wait ends with an InterruptedException when its thread is interrupted. */
@Experimental
@SuppressWarnings("try")
public interface TailReader<P> extends AutoCloseable {

  /**
   * Moves to the next row, and waits for it where it is not there yet.
   *
   * @param timeoutMillis waits at most so long; 0: not at all; {@code Long.MAX_VALUE}: until there is one
   * @return false where none came in time: the reader stands where it stood
   */
  boolean next(long timeoutMillis) throws Exception;

  /** The row that {@link #next} has moved to. It may be reused for the next one. */
  InternalRow get();

  /** The position after that row; before the first, the one where the reader began. */
  P position();

  @Override
  default void close() throws Exception {}
}
