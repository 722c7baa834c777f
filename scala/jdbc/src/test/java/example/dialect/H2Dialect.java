package example.dialect;

import io.epochal.jdbc.dialect.JdbcDialect;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** H2, as a team outside of Epochal would add it. */
public final class H2Dialect implements JdbcDialect {

  @Override
  public String name() {
    return "H2";
  }

  @Override
  public boolean handles(String url) {
    return url.startsWith("jdbc:h2:mem:dialect");
  }

  @Override
  public Optional<String> columnType(DataType type) {
    return type.equals(DataTypes.StringType) ? Optional.of("VARCHAR(1000000)") : Optional.empty();
  }

  @Override
  public void begin(Connection connection, Duration lockTimeout) throws SQLException {
    try (var statement = connection.createStatement()) {
      statement.execute("SET LOCK_TIMEOUT " + lockTimeout.toMillis());
    }
  }

  /** 90131: a row was changed by another transaction meanwhile. */
  @Override
  public boolean isTransient(SQLException error) {
    return error.getErrorCode() == 90131;
  }
}
