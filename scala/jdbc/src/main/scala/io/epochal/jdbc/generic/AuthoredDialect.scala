package io.epochal.jdbc.generic

import java.sql.{Connection, SQLException}
import java.time.Duration
import java.util.ServiceLoader

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.types.DataType

import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database.{Dialect, Dialects, JdbcDriver}
import io.epochal.jdbc.dialect.JdbcDialect

/** A dialect of another team over what JDBC promises of any database. */
final private[jdbc] class AuthoredDialect(val author: JdbcDialect) extends GenericDialect {

  override def name: String = author.name
  override def driver(url: String): Option[JdbcDriver] = author.driver(url).toScala.map(JdbcDriver(_))
  override def handles(url: String): Boolean = author.handles(url)
  override def quote(name: String): String = author.quote(name)
  override def declare(dataType: DataType): Option[String] =
    author.columnType(dataType).toScala.orElse(super.declare(dataType))
  override def maxConnections: Int = author.maxConnections

  override def begin(connection: Connection, lockTimeout: Duration): Option[String] = {
    val id = super.begin(connection, lockTimeout)
    author.begin(connection, lockTimeout)
    id
  }

  override def verdict(error: SQLException): Verdict =
    if (author.isTransient(error)) Verdict.Retry else super.verdict(error)

  override def losesConnection(error: SQLException): Boolean =
    author.losesConnection(error) || super.losesConnection(error)
}

/** Those that a class loader sees. */
final class AuthoredDialects extends Dialects {
  override def found(loader: ClassLoader): Seq[Dialect] =
    ServiceLoader.load(classOf[JdbcDialect], loader).asScala.map(new AuthoredDialect(_)).toSeq
}
