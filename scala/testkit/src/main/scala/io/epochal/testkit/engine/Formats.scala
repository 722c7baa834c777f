package io.epochal.testkit.engine

import org.apache.spark.sql.connector.catalog.TableProvider
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.SQLConf

/** Finds connectors by the name of their format, as Spark does. */
private[testkit] object Formats {

  def provider(format: String): TableProvider =
    DataSource.lookupDataSource(format, SQLConf.get).getDeclaredConstructor().newInstance() match {
      case provider: TableProvider => provider
      case _                       => throw new IllegalArgumentException(s"$format is no TableProvider")
    }
}
