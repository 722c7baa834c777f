package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import io.epochal.kit.sink.row.BadValue;
import java.io.Serializable;
import org.apache.spark.sql.Row;

/** Looks at each row in its task, before anything is written. */
@Stable
@FunctionalInterface
public interface RowCheck extends Serializable {

  /**
   * @throws BadValue names the column (its place in the row, from 0) and the reason; the epoch then fails with BAD_ROW
   */
  void check(Row row) throws BadValue;
}
