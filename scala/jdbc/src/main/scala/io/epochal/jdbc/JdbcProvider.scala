package io.epochal.jdbc

import scala.util.Try

import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionGroup
import io.epochal.jdbc.database.Dialect
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.JdbcUrl
import io.epochal.kit.sink.SinkProvider
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
final class JdbcProvider extends SinkProvider[JdbcOptions](JdbcOptions.group) {

  /** Spark calls this for reads, and for a CREATE TABLE without columns. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = throw JdbcOptions.unsupported(
    "infer columns",
    "it is a sink, which is not read",
    "A CREATE TABLE must name its columns: CREATE TABLE comments_sink (id INT, body STRING) USING `epochal-jdbc` …. " +
      JdbcProvider.otherRead(
        options.get(JdbcOptions.Url.name),
        options.get(JdbcOptions.DbTable.name),
        Option(options.get(JdbcOptions.Driver.name)))
  )

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

  /** A call that reads the table. It names the driver class, since Spark does not find drivers of jars added later. */
  def otherRead(url: String, table: String, driver: Option[String]): String = {
    val from = Option(url).fold("jdbc:…")(JdbcUrl.shown)
    val name = driver.orElse(Try(Dialects.of(from)).toOption.flatten.flatMap(_.driver(from)).map(_.className))
    val options = Seq("url" -> from, "dbtable" -> Option(table).getOrElse("comments"), "driver" -> name.getOrElse("…"))
    val call = options.map { case (option, value) => s""".option("$option", "$value")""" }.mkString
    s"""Read with Spark's own format: spark.read.format("jdbc")$call.load()."""
  }

  def dialect(options: JdbcOptions): Either[EpochalException, Dialect] = {
    val url = options.connection.url
    val example = JdbcUrl.meant(url).fold(JdbcOptions.Url.example)(url => s"url=$url")
    val form = "a JDBC URL, which begins with jdbc: and the name of the database's driver"
    def error = OptionGroup.invalid(JdbcOptions.Format, JdbcOptions.Url.name, options.connection.place, form, example)
    Dialects.of(url).toRight(error)
  }
}
