package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import io.epochal.kit.sink.row.BadValue;
import java.io.Serializable;
import org.apache.spark.sql.Row;

/** Checks each row in its task, before anything is written. */
@Stable
@FunctionalInterface
public interface RowCheck extends Serializable {

  /**
   * Checks one row.
   *
   * @throws BadValue with the column (its index in the row, from 0) and the reason; the epoch then fails with BAD_ROW
   */
  void check(Row row) throws BadValue;
}
