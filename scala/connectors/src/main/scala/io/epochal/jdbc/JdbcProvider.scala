package io.epochal.jdbc

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{
  Column,
  SupportsRead,
  SupportsWrite,
  Table,
  TableCapability,
  TableProvider
}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.jdbc.commit.Claims
import io.epochal.jdbc.database.{Database, Dialect, Trust}
import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.jdbc.table.{DeadLetterTable, TableCheck}
import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.engine.SinkEngine
import io.epochal.kit.sink.TornFirstBatch

/** `format("epochal-jdbc")`: a table in a database. Streaming writes are exactly once, by a ledger beside the table.
  *
  *   - `JdbcProvider` (this file): what Spark finds by name; everything is checked here, before a query starts
  *   - [[JdbcOptions]]: the options, declared once
  *   - [[JdbcWrite]]: the driver's part; claims the ledger, commits epochs
  *   - [[JdbcWriter]]: the tasks' part; encodes rows
  *
  * From there: [[Claims]] and [[EpochCommit]] over [[LedgerTable]] are the protocol, [[Transport]] is the way of the rows,
  * and a [[Dialect]] is all that is peculiar to one database.
  */
final class JdbcProvider extends TableProvider with DataSourceRegister {

  override def shortName(): String = JdbcOptions.Format

  /** Makes Spark hand the query's columns to `getTable`. */
  override def supportsExternalMetadata(): Boolean = true

  /** Asked for when somebody reads. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = throw JdbcProvider.cannotRead(
    options.get(JdbcOptions.Url.name),
    options.get(JdbcOptions.DbTable.name),
    Option(options.get(JdbcOptions.Driver.name)))

  /** Called once when a query starts, and once for a batch write. Nothing has been written yet. */
  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    if (partitioning.nonEmpty)
      throw Conditions.ModeUnsupported(
        "format" -> JdbcOptions.Format,
        "mode" -> "partition the rows (partitionBy)",
        "reason" -> "partitions of a table are defined in the database",
        "suggestion" -> "Leave partitionBy out.")
    val options = JdbcOptions.read(properties.asScala.toMap).fold(throw _, identity)
    PlanRedaction.hide(JdbcOptions.group, properties)
    val table =
      new JdbcTable(options, JdbcProvider.dialect(options).fold(throw _, identity), schema, SinkEngine.OfActiveSession)
    table.check()
    TornFirstBatch.sweep(properties.asScala.toMap, SinkEngine.OfActiveSession.hadoop)
    table
  }
}

private object JdbcProvider {

  /** With a call that reads the table. Spark finds no driver of a jar that was added later unless it is told the class. */
  def cannotRead(url: String, table: String, driver: Option[String]): EpochalException = {
    val from = Option(url).fold("jdbc:…")(Redaction.url)
    val name = driver.orElse(drivers.collectFirst { case (prefix, name) if from.startsWith(prefix) => name })
    val options = Seq("url" -> from, "dbtable" -> Option(table).getOrElse("comments"), "driver" -> name.getOrElse("…"))
    val call = options.map { case (option, value) => s""".option("$option", "$value")""" }.mkString
    Conditions.ModeUnsupported(
      "format" -> JdbcOptions.Format,
      "mode" -> "read",
      "reason" -> "it is a sink",
      "suggestion" ->
        s"""Read with Spark's own format: spark.read.format("jdbc")$call.load(). (A CREATE TABLE must name its columns.)"""
    )
  }

  private val drivers = Seq(
    "jdbc:postgresql:" -> "org.postgresql.Driver",
    "jdbc:sqlite:" -> "org.sqlite.JDBC",
    "jdbc:mariadb:" -> "org.mariadb.jdbc.Driver",
    "jdbc:mysql:" -> "com.mysql.cj.jdbc.Driver")

  private def dialect(options: JdbcOptions): Either[EpochalException, Dialect] =
    Dialect
      .of(options.connection.url)
      .toRight(
        JdbcOptions.group.invalid(
          JdbcOptions.Url,
          options.connection.place,
          "a JDBC URL, which begins with jdbc: and the name of the database's driver"))
}

/** The target of one query, from its start to its end. */
final private[jdbc] class JdbcTable(
    options: JdbcOptions,
    dialect: Dialect,
    querySchema: StructType,
    engine: SinkEngine
) extends Table
    with SupportsRead
    with SupportsWrite
    with ReportsSinkMetrics {

  private val sinkMetrics = new SinkMetrics
  private val database = new Database(dialect, options, () => sinkMetrics.retried())
  private val claims = new Claims(database)

  /** Refuses what cannot work: place, table, columns, types, keys. */
  def check(): Unit = {
    val checks = new TableCheck(dialect, options)
    dialect.check(options).fold(throw _, identity)
    checkTransport()
    if (dialect.isNew(options.connection))
      if (options.createTable) checks.bindNew(querySchema).fold(throw _, identity) else throw checks.missing(None)
    else
      database.look { connection =>
        dialect.check(connection).fold(throw _, identity)
        database.bulk.foreach(_.check(connection, append = !options.upsert).fold(throw _, identity))
        dialect.find(connection, options.table) match {
          case Some(table) =>
            checks.check(querySchema, table).fold(throw _, identity)
            options.rows.deadLetterTable.foreach(
              new DeadLetterTable(dialect, _).find(connection, Trust(table.name, options.trustedOwners)))
          case None if options.createTable =>
            checks.bindNew(querySchema, dialect.declareKey(connection, _)).fold(throw _, identity)
          case None => throw checks.missing(Some(connection))
        }
      }
  }

  private def checkTransport(): Unit = {
    val choice = options.transport
    if (choice != TransportChoice.Auto && choice != TransportChoice.Inline && database.bulk.isEmpty)
      throw Conditions.ModeUnsupported(
        "format" -> JdbcOptions.Format,
        "mode" -> s"write with transport=${choice.name} to ${dialect.name}",
        "reason" -> "there only the driver writes",
        "suggestion" -> "Leave transport out.")
  }

  override def name(): String = s"${JdbcOptions.Format} ${options.table} in ${database.place}"

  /** The sink's description in every query progress. */
  override def toString: String = name()

  override def metrics(): util.Map[String, String] = sinkMetrics.asMap.asJava

  override def columns(): Array[Column] =
    querySchema.fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  // Spark 4.0 asks only this one.
  override def schema(): StructType = querySchema

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(
    TableCapability.STREAMING_WRITE,
    TableCapability.BATCH_WRITE,
    TableCapability.TRUNCATE,
    TableCapability.ACCEPT_ANY_SCHEMA,
    TableCapability.BATCH_READ,
    TableCapability.MICRO_BATCH_READ
  )

  /** Refuses to read, in words of ours; without this Spark says that there is no such data source. */
  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder =
    throw JdbcProvider.cannotRead(options.connection.url, options.table.toString, options.connection.driver)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    new JdbcWriteBuilder(WriteRequest(database, claims, info.schema, info.queryId, sinkMetrics, engine))
}
