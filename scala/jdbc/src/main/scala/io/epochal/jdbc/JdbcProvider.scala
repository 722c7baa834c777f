package io.epochal.jdbc

import java.util

import org.apache.spark.sql.connector.catalog.{SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.jdbc.database.{Database, Dialect, Trust}
import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.jdbc.table.{DeadLetterTable, TableCheck}
import io.epochal.kit.sink.{SinkMetrics, SinkProvider, TransactionalTable}
import io.epochal.kit.spark.SinkEngine

/** `format("epochal-jdbc")`: a database table as a sink. Streaming writes are exactly-once, by a ledger beside the table.
  *
  *   - `JdbcProvider` (this file): the class that Spark finds by name; all checks before the query starts are here
  *   - [[JdbcOptions]]: the options, declared once
  *   - [[JdbcSink]]: the table as a transactional sink; `kit.sink` runs the protocol from claim to COMMIT
  *
  * Below them, [[commit.LedgerClaim]] and [[commit.JdbcTarget]] over [[commit.LedgerTable]] are claim and COMMIT in SQL, and a
  * [[Dialect]] holds everything specific to one database.
  */
final class JdbcProvider extends SinkProvider[JdbcOptions](JdbcOptions.group) with DataSourceRegister {

  override def shortName(): String = JdbcOptions.Format

  /** Spark calls this only for reads. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = throw JdbcProvider.cannotRead(
    options.get(JdbcOptions.Url.name),
    options.get(JdbcOptions.DbTable.name),
    Option(options.get(JdbcOptions.Driver.name)))

  override protected def unpartitioned: (String, String) =
    "partitions of a table are defined in the database" -> "Leave partitionBy out."

  override protected def options(raw: Map[String, String]): Either[EpochalException, JdbcOptions] =
    JdbcOptions.read(raw)

  override protected def table(schema: StructType, options: JdbcOptions): JdbcTable = {
    val dialect = JdbcProvider.dialect(options).fold(throw _, identity)
    val table = new JdbcTable(options, dialect, schema, SinkEngine.OfActiveSession)
    table.check()
    table
  }
}

private object JdbcProvider {

  /** Suggests a call that reads the table. It names the driver class, since Spark does not find drivers of jars added later. */
  def cannotRead(url: String, table: String, driver: Option[String]): EpochalException = {
    val from = Option(url).fold("jdbc:…")(Redaction.url)
    val name = driver.orElse(Dialect.of(from).flatMap(_.driver(from)).map(_.className))
    val options = Seq("url" -> from, "dbtable" -> Option(table).getOrElse("comments"), "driver" -> name.getOrElse("…"))
    val call = options.map { case (option, value) => s""".option("$option", "$value")""" }.mkString
    JdbcOptions.unsupported(
      "read",
      "it is a sink",
      s"""Read with Spark's own format: spark.read.format("jdbc")$call.load(). (A CREATE TABLE must name its columns.)""")
  }

  def dialect(options: JdbcOptions): Either[EpochalException, Dialect] =
    Dialect
      .of(options.connection.url)
      .toRight(
        JdbcOptions.group.invalid(
          JdbcOptions.Url,
          options.connection.place,
          "a JDBC URL, which begins with jdbc: and the name of the database's driver"))
}

/** The target of one query, for its lifetime. */
final private[jdbc] class JdbcTable(
    options: JdbcOptions,
    dialect: Dialect,
    querySchema: StructType,
    engine: SinkEngine
) extends TransactionalTable(querySchema, engine)
    with SupportsRead {

  override protected val sinkMetrics = new SinkMetrics(JdbcOptions.Format)
  private val database = new Database(dialect, options, () => sinkMetrics.retried())
  override protected val sink = new JdbcSink(database)

  /** Refuses options, tables, columns, types and keys that cannot work. */
  def check(): Unit = {
    val checks = new TableCheck(dialect, options)
    dialect.check(options).fold(throw _, identity)
    checkTransport()
    if (database.isNew)
      if (options.createTable) checks.bindNew(querySchema).fold(throw _, identity) else throw checks.missing(None)
    else
      database.inspect { connection =>
        dialect.check(connection).fold(throw _, identity)
        database.bulk.foreach(_.check(connection, append = !options.upsert).fold(throw _, identity))
        dialect.catalog.find(connection, options.table) match {
          case Some(table) =>
            checks.check(querySchema, table).fold(throw _, identity)
            options.rows.deadLetterTable.foreach(
              new DeadLetterTable(dialect, _).find(connection, Trust(table.name, options.trustedOwners)))
          case None if options.createTable =>
            checks.bindNew(querySchema, dialect.types.declareKey(connection, _)).fold(throw _, identity)
          case None => throw checks.missing(Some(connection))
        }
      }
  }

  private def checkTransport(): Unit = {
    val choice = options.transport
    if (choice != TransportChoice.Auto && choice != TransportChoice.Inline && database.bulk.isEmpty)
      throw JdbcOptions.unsupported(
        s"write with {option:transport=${choice.name}} to ${dialect.name}",
        "there only the driver writes",
        JdbcOptions.noTransport)
  }

  /** Includes reading, so that the refusal is ours: without it, Spark reports that the data source does not exist. */
  override def capabilities(): util.Set[TableCapability] = {
    val all = super.capabilities()
    all.add(TableCapability.BATCH_READ): Unit
    all.add(TableCapability.MICRO_BATCH_READ): Unit
    all
  }

  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder =
    throw JdbcProvider.cannotRead(options.connection.url, options.table.toString, options.connection.driver)
}
