package io.epochal.jdbc.dialect;

import io.epochal.core.annotation.Experimental;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import org.apache.spark.sql.types.DataType;

/**
 * Describes a database that {@code epochal-jdbc} does not know. The sink is exactly-once with any dialect: rows and ledger are written in
 * one transaction, by standard SQL and JDBC. Each method defaults to what JDBC guarantees for every database.
 *
 * <p>An implementation is a class with a public no-argument constructor, listed in the resource {@code
 * META-INF/services/io.epochal.jdbc.dialect.JdbcDialect} of a jar on the class path. It takes precedence over Epochal's own dialects. It
 * must be stateless, and any thread may call it.
 *
 * <p>Not supported: upserts by key columns, bulk loading by other means than INSERT, continuous and real-time triggers.
 */
@Experimental
public interface JdbcDialect {

  /** The database's name, for messages. */
  String name();

  /** Whether this dialect handles the URL, which may contain a password. */
  boolean handles(String url);

  /** The driver's class name, if JDBC does not find the driver by the URL. */
  default Optional<String> driver(String url) {
    return Optional.empty();
  }

  /** Quotes the name of a table or column. */
  default String quote(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  /**
   * The type of a column that the sink creates ({@code createTable}, {@code addColumns}) for a Spark type. It must store every value
   * unchanged. Empty: the type of standard SQL.
   */
  default Optional<String> columnType(DataType type) {
    return Optional.empty();
  }

  /** Maximum number of connections of one JVM to one database, unless the user sets it. */
  default int maxConnections() {
    return 8;
  }

  /**
   * Called at the start of each transaction, after its isolation level is set: the place for settings that last until its end.
   *
   * @param lockTimeout how long a statement may wait for a lock, for databases that can limit it
   */
  default void begin(Connection connection, Duration lockTimeout) throws SQLException {}

  /** Whether a retry of the transaction can succeed, beyond what SQLSTATE and JDBC's exception classes say. */
  default boolean isTransient(SQLException error) {
    return false;
  }

  /** Whether the connection is lost, so that a COMMIT may have taken effect, beyond what SQLSTATE and JDBC's exception classes say. */
  default boolean losesConnection(SQLException error) {
    return false;
  }
}
