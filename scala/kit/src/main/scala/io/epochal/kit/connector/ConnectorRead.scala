package io.epochal.kit.connector

import org.apache.spark.sql.types.StructType

/** A read of a query: its settings, columns and parallelism.
  *
  * @param parts
  *   the number of tasks among which rows are divided
  */
final private[connector] case class ConnectorRead(settings: Settings, schema: StructType, parts: Int) {

  def inTask[C <: SourceDefinition[_]](connector: C): ConnectorInTask[C] =
    ConnectorInTask(connector.getClass.asInstanceOf[Class[C]], settings.raw, schema)
}
