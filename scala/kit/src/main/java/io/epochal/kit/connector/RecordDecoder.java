package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;

/** Makes a row of a record, in a task. */
@Experimental
@FunctionalInterface
public interface RecordDecoder {

  /** The values of the row, as {@link RowReader#of} takes them. The same record always gives the same row. */
  Object[] decode(byte[] record) throws Exception;
}
