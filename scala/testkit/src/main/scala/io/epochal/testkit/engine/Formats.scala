package io.epochal.testkit.engine

import java.util
import java.util.ServiceLoader

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Finds connectors by the name of their format, as Spark does. */
private[testkit] object Formats {

  def provider(format: String): TableProvider = {
    val loader = Option(Thread.currentThread().getContextClassLoader).getOrElse(getClass.getClassLoader)
    val registered = ServiceLoader
      .load(classOf[DataSourceRegister], loader)
      .stream()
      .iterator
      .asScala
      .filter(found => classOf[TableProvider].isAssignableFrom(found.`type`))
      .map(_.get())
      .find(_.shortName().equalsIgnoreCase(format))
    registered match {
      case Some(found: TableProvider) => found
      case _ =>
        val constructor = Class.forName(format, true, loader).getDeclaredConstructor()
        constructor.setAccessible(true)
        constructor.newInstance().asInstanceOf[TableProvider]
    }
  }

  /** @param schema
    *   schema of the reader; None: the connector infers it
    */
  def table(format: String, options: util.Map[String, String], schema: Option[StructType]): Table = {
    val found = provider(format)
    val columns = schema.getOrElse(found.inferSchema(new CaseInsensitiveStringMap(options)))
    found.getTable(columns, Array.empty, options)
  }
}
