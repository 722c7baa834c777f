package io.epochal.kit.sink

import org.apache.spark.sql.types._

import io.epochal.core.error.{Conditions, EpochalException}

/** Types that Spark 4.0 lacks, by their names. */
private[epochal] object NewTypes {
  private val Places = Seq("geometry(", "geography(")
  private val Nanos = Seq("timestamp_ntz(", "timestamp_ltz(")

  /** The first column whose values Spark cannot write as JSON, or cuts to microseconds there. */
  def inexactInJson(schema: StructType): Option[StructField] =
    schema.find(field => has(field.dataType, Places ++ Nanos))

  /** The error for a column whose type has no exact form where it goes. */
  def unsupported(field: StructField, place: String): EpochalException = {
    val conversion = field.dataType match {
      // Spark casts these to no other type.
      case kind if has(kind, Places) => s"ST_AsBinary(${field.name}), for values of GEOMETRY and GEOGRAPHY"
      case _: StructType | _: MapType | _: ArrayType if has(field.dataType, Nanos) =>
        s"the times in ${field.name} by CAST(… AS STRING); JSON would cut them to microseconds"
      case _: StructType | _: MapType | _: ArrayType => s"to_json(${field.name})"
      case _                                         => s"CAST(${field.name} AS STRING)"
    }
    Conditions.TypeUnsupported(
      "column" -> field.name,
      "sparkType" -> field.dataType.sql,
      "database" -> place,
      "conversion" -> conversion)
  }

  private def has(kind: DataType, names: Seq[String]): Boolean = kind match {
    case struct: StructType     => struct.exists(field => has(field.dataType, names))
    case ArrayType(element, _)  => has(element, names)
    case MapType(key, value, _) => has(key, names) || has(value, names)
    case other                  => names.exists(other.typeName.startsWith)
  }
}
