package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import io.epochal.kit.spark.ValueRows;
import java.util.Iterator;
import java.util.concurrent.Callable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The rows of one task, in order. Closed at the end, also after a failure. */
@Stable
@SuppressWarnings("try")
public interface RowReader extends AutoCloseable {

  /** Moves to the next row; false after the last. */
  boolean next() throws Exception;

  /** The current row. The object may be reused for the next row. */
  InternalRow get();

  @Override
  default void close() throws Exception {}

  /**
   * A reader of rows given as values: the types that {@code org.apache.spark.sql.Row} holds, such as {@code String}, {@code
   * Long}, {@code java.time.Instant}, {@code BigDecimal}, {@code byte[]}, lists and maps of them, and null.
   *
   * @param rows returns the values of the next row on each call, and null after the last
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

  /** A reader of rows in memory. */
  static RowReader of(StructType schema, Iterator<Object[]> rows) {
    return of(schema, () -> rows.hasNext() ? rows.next() : null, () -> {});
  }
}
