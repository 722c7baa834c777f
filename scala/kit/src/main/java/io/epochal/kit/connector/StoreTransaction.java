package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.Row;

/**
 * A transaction of the system that rows are written to. It also keeps the ledger: texts of the kit's under names of the kit's, a
 * table of two columns, in the same database as the rows. All that a transaction wrote takes effect with {@link #commit}, together,
 * or never.
 *
 * <p>Isolation: what is read must be what others have committed before the call, not before the transaction began (READ COMMITTED
 * and a locking read do; a snapshot does not).
 */
@Stable
@SuppressWarnings("try")
public interface StoreTransaction extends AutoCloseable {

  /**
   * Locks an entry of the ledger until the transaction ends, and gives its text. An entry that is not there is made, with the empty
   * text. Others that lock the same entry wait, and then see what was committed.
   */
  String lock(String entry) throws Exception;

  /** All entries of the ledger, without a lock. */
  Map<String, String> ledger() throws Exception;

  /** Writes the text of an entry. */
  void put(String entry, String text) throws Exception;

  /**
   * Writes rows: the whole of an epoch, on the driver.
   *
   * @param rows to be read to the end
   * @param replace whether they are all that the target is to hold: what it holds is deleted first
   * @return how many rows the system says that it stored
   */
  long write(Iterator<Row> rows, boolean replace) throws Exception;

  /** Commits. It is durable if and only if this returns; where it fails, nobody knows yet. */
  void commit() throws Exception;

  /** Ends the transaction: rolls it back where it was not committed. */
  @Override
  void close() throws Exception;
}
