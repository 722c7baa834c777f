package io.epochal.kit.connector

import org.apache.spark.sql.types.StructType

/** Serialized to the tasks, where the connector is created again: an author's class need not be serializable. */
final private[connector] case class ConnectorInTask[C <: SourceDefinition[_]](
    kind: Class[C],
    raw: Map[String, String],
    schema: StructType) {

  def connector: C = kind.getDeclaredConstructor().newInstance()

  override def toString: String = kind.getName
}
