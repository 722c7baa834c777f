package io.epochal.cdc

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{Changelog, ChangelogContext, Identifier}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.kit.database.ConnectionSettings
import io.epochal.kit.spark.JdbcCatalog

/** `spark.sql.catalog.pg=io.epochal.cdc.EpochalPostgresCatalog`: the tables of a PostgreSQL database, by Spark's JDBC catalog, and
  * their changes, by the source of [[CdcProvider]].
  *
  * Its options are those of `epochal-cdc` without `dbtable`; options of a read override them. Spark calls `loadChangelog` from 4.2
  * on. Until then no class is loaded that names an interface of 4.2, and the catalog has the tables only.
  */
final class EpochalPostgresCatalog extends JdbcCatalog {
  private var defaults = Map.empty[String, String]

  override protected def jdbcOptions(name: String, options: Map[String, String]): Map[String, String] = {
    defaults = options
    val ConnectionSettings(url, user, password, _, properties, _) =
      CdcOptions.read(options + (CdcOptions.DbTable.name -> name)).fold(throw _, _.connection)
    // A timestamp without time zone has the same type as in changes.
    properties ++ Map("url" -> url, "driver" -> "org.postgresql.Driver", "preferTimestampNTZ" -> "true") ++
      user.map("user" -> _) ++ password.map("password" -> _.read())
  }

  override def loadChangelog(
      table: Identifier,
      context: ChangelogContext,
      options: CaseInsensitiveStringMap): Changelog = PostgresChangelog.load(defaults, table, context, options)

  /** Overrides a method of Spark 4.3: the options of a read that Spark passes on, and by which it distinguishes reads. */
  def changelogStateOptionKeys(): java.util.Set[String] = CdcOptions.group.specs.map(_.name).toSet.asJava
}
