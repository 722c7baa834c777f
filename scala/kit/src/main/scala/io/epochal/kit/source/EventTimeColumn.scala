package io.epochal.kit.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{DataType, DateType, StructType, TimestampNTZType, TimestampType}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionValues, SourceOptions}

/** The column with a row's event time, by its index. Serialized to the executors. */
final private[source] case class EventTimeColumn(ordinal: Int, isDate: Boolean) {

  /** Microseconds since 1970; `EventTimeColumn.Absent` for NULL. A DATE is its midnight in UTC, and a TIMESTAMP_NTZ is taken as
    * UTC.
    */
  def of(row: InternalRow): Long =
    if (row.isNullAt(ordinal)) EventTimeColumn.Absent
    else if (isDate) row.getInt(ordinal) * EventTimeColumn.MicrosPerDay
    else row.getLong(ordinal)
}

private[source] object EventTimeColumn {

  /** Below every time that a column can have. */
  val Absent: Long = Long.MinValue

  private val MicrosPerDay = 86400000000L

  /** The column with this name: in this spelling, else the only one that differs by case alone. */
  def of(name: String, schema: StructType): Option[EventTimeColumn] = {
    def only(same: String => Boolean) = schema.fields.indices.filter(i => same(schema(i).name)) match {
      case Seq(one) => Some(one)
      case _        => None
    }
    only(_ == name)
      .orElse(only(_.equalsIgnoreCase(name)))
      .filter(i => isTime(schema(i).dataType))
      .map(i => EventTimeColumn(i, schema(i).dataType == DateType))
  }

  /** The error for an event time column that a source with these columns lacks, if it does. */
  def refused(values: OptionValues, schema: StructType): Option[EpochalException] =
    for {
      name <- values.get(SourceOptions.EventTimeColumn)
      if of(name, schema).isEmpty
    } yield {
      val times = schema.filter(field => isTime(field.dataType)).map(_.name)
      val there = if (times.isEmpty) "it has none" else s"it has ${times.mkString(", ")}"
      val form = s"a column of the source of type TIMESTAMP, TIMESTAMP_NTZ or DATE ($there)"
      val spec = SourceOptions.EventTimeColumn
      val example = times.headOption.fold(spec)(first => spec.copy(sample = Some(first)))
      values.group.invalid(example, name, form, times)
    }

  private def isTime(kind: DataType): Boolean = kind == TimestampType || kind == TimestampNTZType || kind == DateType
}
