package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;
import org.apache.spark.sql.catalyst.InternalRow;

/** The rows of one task that has no end. Interrupting its thread ends a wait with an InterruptedException. */
@Experimental
@SuppressWarnings("try")
public interface TailReader<P> extends AutoCloseable {

  /**
   * Moves to the next row, and waits for it if necessary.
   *
   * @param timeoutMillis the maximum wait; 0 does not wait, {@code Long.MAX_VALUE} waits until there is a row
   * @return false if no row arrived in time; the reader has not moved
   */
  boolean next(long timeoutMillis) throws Exception;

  /** The current row. The object may be reused for the next row. */
  InternalRow get();

  /** The position after the current row; before the first row, the position where the reader began. */
  P position();

  @Override
  default void close() throws Exception {}
}
