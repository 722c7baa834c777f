package io.epochal.jdbc.dialect

import java.sql.{Connection, SQLException}
import java.time.Duration

import scala.jdk.OptionConverters._

import org.apache.spark.sql.types.DataType

import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database.{Abilities, BuiltInDialect, Dialect, Writer}
import io.epochal.jdbc.generic.{GenericDialect, GenericErrors, GenericTypes}
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.access.DriverAccess
import io.epochal.kit.database.{JdbcDriver, JdbcUrl}

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

  /** The dialect for a URL: users' dialects come before Epochal's, and the generic one, which accepts any JDBC URL,
    * comes last.
    *
    * @throws io.epochal.core.error.EpochalException
    *   MODE_UNSUPPORTED, if only the generic one accepts the URL, and one that may be for it cannot be loaded
    */
  def of(url: String): Option[Dialect] = {
    def services[A](kind: Class[A]) = DriverAccess.current.services(kind)
    val all = services(classOf[JdbcDialect]).map(_.map(new AuthoredDialect(_))) ++ services(classOf[Dialect])
    val (errors, dialects) = all.partitionMap(identity)
    dialects.sortBy(_.isInstanceOf[BuiltInDialect]).find(_.handles(url)).orElse {
      if (errors.nonEmpty)
        throw JdbcOptions.unsupported(
          s"write into ${JdbcUrl.shown(url)}",
          s"no dialect that was loaded accepts this URL, and others cannot be loaded (${errors.distinct.mkString("; ")})",
          "Put their jars and all jars that these need on Spark's class path, or take them out of META-INF/services.")
      Some(new GenericDialect).filter(_.handles(url))
    }
  }
}
