package io.epochal.kit.connector;

import io.epochal.core.annotation.Stable;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.Row;

/**
 * A transaction of the system that rows are written to. It also keeps the ledger: named texts that belong to the kit, in a
 * table of two columns in the same database as the rows. Everything that a transaction wrote takes effect together with {@link
 * #commit}, or never.
 *
 * <p>Isolation: reads must see what others have committed before the call, not before the transaction began (READ COMMITTED and
 * a locking read do; a snapshot does not).
 */
@Stable
@SuppressWarnings("try")
public interface StoreTransaction extends AutoCloseable {

  /**
   * Locks an entry of the ledger until the transaction ends, and returns its text. Creates a missing entry with the empty text.
   * Other transactions that lock the entry wait, and then see what was committed.
   */
  String lock(String entry) throws Exception;

  /** All entries of the ledger, without a lock. */
  Map<String, String> ledger() throws Exception;

  /** Writes the text of an entry. */
  void put(String entry, String text) throws Exception;

  /**
   * Writes all rows of an epoch, on the driver.
   *
   * @param rows must be read to the end
   * @param replace whether the target's existing rows are deleted first
   * @return how many rows the system reports as stored
   */
  long write(Iterator<Row> rows, boolean replace) throws Exception;

  /** Commits. The commit is durable if this returns; if it fails, the outcome is unknown. */
  void commit() throws Exception;

  /** Ends the transaction, and rolls it back if it is not committed. */
  @Override
  void close() throws Exception;
}
