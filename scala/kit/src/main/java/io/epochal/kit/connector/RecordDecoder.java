package io.epochal.kit.connector;

import io.epochal.core.annotation.Experimental;

/** Decodes records into rows, in a task. */
@Experimental
@FunctionalInterface
public interface RecordDecoder {

  /** The values of the row, as {@link RowReader#of} takes them. The same record always yields the same row. */
  Object[] decode(byte[] record) throws Exception;
}
