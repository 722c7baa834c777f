package io.epochal.jdbc.dialect;

import io.epochal.core.annotation.Experimental;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import org.apache.spark.sql.types.DataType;

/**
 * What is peculiar to a database that {@code epochal-jdbc} does not know. Exactly-once is the sink's in any case: rows and ledger in one
 * transaction, by standard SQL and JDBC. The default of each method is what JDBC promises of any database.
 *
 * <p>A class with a public constructor without parameters, named in the resource {@code
 * META-INF/services/io.epochal.jdbc.dialect.JdbcDialect} of a jar beside Epochal's. It is asked before Epochal's own dialects. It has no
 * state, and is asked by any thread.
 *
 * <p>Not possible with it: to replace rows by key columns, to load rows by other means than INSERTs, continuous and real-time triggers.
 */
@Experimental
public interface JdbcDialect {

  /** The database, for messages. */
  String name();

  /** Whether the URL is that of such a database. It may hold a password. */
  boolean handles(String url);

  /** The class of the driver, where JDBC does not find it by the URL. */
  default Optional<String> driver(String url) {
    return Optional.empty();
  }

  /** A name of a table or column, quoted. */
  default String quote(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  /**
   * The type of a column that is made for values of a Spark type ({@code createTable}, {@code addColumns}): one that keeps every value as it
   * is. Empty: what standard SQL has.
   */
  default Optional<String> columnType(DataType type) {
    return Optional.empty();
  }

  /** Connections that one JVM may hold to one database, unless the user says how many. */
  default int maxConnections() {
    return 8;
  }

  /**
   * Begins each transaction, after its isolation level was set: the place for settings of the session that hold to its end.
   *
   * @param lockTimeout how long a statement may wait for a lock; a database that can be told so is told here
   */
  default void begin(Connection connection, Duration lockTimeout) throws SQLException {}

  /** Whether the transaction can succeed when it is repeated, beyond what SQLSTATE and the classes of JDBC say. */
  default boolean isTransient(SQLException error) {
    return false;
  }

  /** Whether the connection is lost, so that a COMMIT may have taken effect, beyond what SQLSTATE and the classes of JDBC say. */
  default boolean losesConnection(SQLException error) {
    return false;
  }
}
