package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import io.epochal.kit.spark.ValueRows;
import java.util.Iterator;
import java.util.concurrent.Callable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The rows of one task, one after the other. Closed at the end, also after a failure. */
@Stable
@SuppressWarnings("try")
public interface RowReader extends AutoCloseable {

  /** Moves to the next row; false after the last. */
  boolean next() throws Exception;

  /** The row that {@link #next} has moved to. It may be reused for the next one. */
  InternalRow get();

  @Override
  default void close() throws Exception {}

  /**
   * Rows of values, which are what {@code org.apache.spark.sql.Row} holds for each type: {@code String}, {@code Long}, {@code
   * java.time.Instant}, {@code BigDecimal}, {@code byte[]}, lists and maps of them, null.
   *
   * @param rows gives the values of the next row each time that it is called, and null after the last
   * @param resource closed with the reader
   */
  static RowReader of(StructType schema, Callable<Object[]> rows, AutoCloseable resource) {
    var values = new ValueRows(schema);
    return new RowReader() {
      private InternalRow row;

      @Override
      public boolean next() throws Exception {
        Object[] found = rows.call();
        if (found != null) row = values.row(found);
        return found != null;
      }

      @Override
      public InternalRow get() {
        return row;
      }

      @Override
      public void close() throws Exception {
        resource.close();
      }
    };
  }

  /** The same of rows in memory. */
  static RowReader of(StructType schema, Iterator<Object[]> rows) {
    return of(schema, () -> rows.hasNext() ? rows.next() : null, () -> {});
  }
}
