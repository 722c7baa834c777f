package io.epochal.jdbc.dialect

import java.sql.{Connection, SQLException}
import java.time.Duration
import java.util.ServiceLoader

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.types.DataType

import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database.{Abilities, BuiltInDialect, Dialect, Writer}
import io.epochal.jdbc.generic.{GenericDialect, GenericErrors, GenericTypes}
import io.epochal.kit.access.DriverAccess
import io.epochal.kit.database.JdbcDriver

/** Adapts another team's [[JdbcDialect]] to the generic dialect. */
final private[jdbc] class AuthoredDialect(val author: JdbcDialect) extends GenericDialect {

  override def name: String = author.name
  override def driver(url: String): Option[JdbcDriver] = author.driver(url).toScala.map(JdbcDriver(_))
  override def handles(url: String): Boolean = author.handles(url)
  override def quote(name: String): String = author.quote(name)
  override def abilities: Abilities = super.abilities.copy(maxConnections = author.maxConnections)

  override object types extends GenericTypes {
    override def declare(dataType: DataType): Option[String] =
      author.columnType(dataType).toScala.orElse(super.declare(dataType))
  }

  override object errors extends GenericErrors {
    override def verdict(error: SQLException): Verdict =
      if (author.isTransient(error)) Verdict.Retry else super.verdict(error)

    override def losesConnection(error: SQLException): Boolean =
      author.losesConnection(error) || super.losesConnection(error)
  }

  override def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String] = {
    val id = super.begin(connection, lockTimeout, writer)
    author.begin(connection, lockTimeout)
    id
  }
}

private[jdbc] object Dialects {

  /** The dialect for a URL: users' dialects come before Epochal's, and the generic one, which accepts any JDBC URL, comes last. */
  def of(url: String): Option[Dialect] = {
    val (ours, users) = DriverAccess.current.loaders.flatMap(dialectsOf).partition(_.isInstanceOf[BuiltInDialect])
    (users ++ ours :+ new GenericDialect).find(_.handles(url))
  }

  private def dialectsOf(loader: ClassLoader): Iterable[Dialect] =
    ServiceLoader.load(classOf[JdbcDialect], loader).asScala.map(new AuthoredDialect(_)) ++
      ServiceLoader.load(classOf[Dialect], loader).asScala
}
