package io.epochal.kit.spark

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Spark's catalog of a database: its tables, read and written by JDBC. */
abstract class JdbcCatalog extends JDBCTableCatalog {

  /** The options of Spark's catalog. Called once.
    *
    * @param options
    *   that the user has set for the catalog of this name
    */
  protected def jdbcOptions(name: String, options: Map[String, String]): Map[String, String]

  final override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = super.initialize(
    name,
    new CaseInsensitiveStringMap(jdbcOptions(name, options.asCaseSensitiveMap.asScala.toMap).asJava))
}
