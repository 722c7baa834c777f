package example.h2

import java.sql.{Connection, PreparedStatement}
import java.util
import scala.jdk.CollectionConverters._
import scala.util.Using.resource

import io.epochal.kit.connector.{Options, Settings, SinkConnector, StoreTransaction}
import org.apache.spark.sql.Row
import org.apache.spark.sql.types.StructType
import org.h2.jdbcx.JdbcDataSource

object H2Sink {
  private val File = Options.text("file", "The database, without its ending.").asRequired
  private val Table = Options.text("table", "The table; made from the query's columns if it is not there.").asRequired
}

/** format("h2"): rows into a table of an embedded H2, each exactly once. */
final class H2Sink extends SinkConnector("h2", "A table of H2.", util.List.of(H2Sink.File, H2Sink.Table)) {
  override def place(settings: Settings): String = s"jdbc:h2:file:${settings.get(H2Sink.File)}"
  override def target(settings: Settings): String = settings.get(H2Sink.Table)

  override def prepare(settings: Settings, schema: StructType): Unit = resource(connect(settings)) { connection =>
    val columns = schema.map(column => s""""${column.name}" ${column.dataType.sql.replace("STRING", "VARCHAR")}""")
    val statement = connection.createStatement()
    statement.execute(s"""CREATE TABLE IF NOT EXISTS "${target(settings)}" (${columns.mkString(", ")})""")
    statement.execute("CREATE TABLE IF NOT EXISTS ledger (entry VARCHAR PRIMARY KEY, text VARCHAR NOT NULL)")
  }

  override def begin(settings: Settings, schema: StructType): StoreTransaction =
    new H2Transaction(connect(settings), target(settings), schema.map(_ => "?").mkString(", "))

  private def connect(settings: Settings): Connection = {
    val source = new JdbcDataSource
    source.setURL(place(settings) + ";WRITE_DELAY=0") // else a COMMIT returns half a second before it is durable
    source.getConnection
  }
}

final class H2Transaction(connection: Connection, table: String, places: String) extends StoreTransaction {
  connection.setAutoCommit(false)

  override def lock(entry: String): String = {
    update("INSERT INTO ledger SELECT ?, '' WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE entry = ?)", entry, entry)
    entries("SELECT entry, text FROM ledger WHERE entry = ? FOR UPDATE", entry)(entry)
  }
  override def ledger(): util.Map[String, String] = entries("SELECT entry, text FROM ledger").asJava
  override def put(entry: String, text: String): Unit = update("MERGE INTO ledger KEY (entry) VALUES (?, ?)", entry, text)
  override def write(rows: util.Iterator[Row], replace: Boolean): Long = {
    if (replace) update(s"""DELETE FROM "$table"""")
    rows.asScala.map(row => update(s"""INSERT INTO "$table" VALUES ($places)""", row.toSeq: _*).toLong).sum
  }
  override def commit(): Unit = connection.commit()
  override def close(): Unit = connection.close() // rolls back what was not committed

  private def update(sql: String, values: Any*): Int = prepared(sql, values)(_.executeUpdate())
  private def entries(sql: String, values: Any*): Map[String, String] = prepared(sql, values) { statement =>
    Iterator.unfold(statement.executeQuery())(at => Option.when(at.next())((at.getString(1) -> at.getString(2), at))).toMap
  }
  private def prepared[A](sql: String, values: Seq[Any])(run: PreparedStatement => A): A =
    resource(connection.prepareStatement(sql)) { statement =>
      values.zipWithIndex.foreach { case (value, i) => statement.setObject(i + 1, value) }
      run(statement)
    }
}
