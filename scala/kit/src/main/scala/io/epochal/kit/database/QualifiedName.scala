package io.epochal.kit.database

/** A table's name, spelled as in the database. */
final case class QualifiedName(schema: String, table: String) {
  override def toString: String = s"$schema.$table"
}
