package io.epochal.cdc.snapshot

import java.nio.charset.StandardCharsets.UTF_8
import java.sql.Connection
import java.time.LocalTime
import java.util.HexFormat

import org.apache.spark.sql.types.StringType
import org.postgresql.util.ByteConverter

import io.epochal.cdc.change.{CapturedTable, TupleValue}
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.slot.TableFacts
import io.epochal.cdc.value.ValueReader
import io.epochal.core.error.Conditions
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{PostgresColumn, PostgresType, Sql}

/** The primary key of a table, in whose order its rows are read, so that a later run finds the rest. Only the server compares keys:
  * with the operators of the key's index, and the collations of its columns. Its values are kept as the server prints them.
  */
final private[cdc] class TableKey private (table: TableFacts, columns: Seq[PostgresColumn]) {
  import TableKey._

  private val names = columns.map(column => Sql.quoted(column.name))
  private val operators = table.keyOperators.padTo(columns.size, Catalog)

  /** The columns of the key, of the table `t`. */
  val order: String = names.map(name => s"t.$name").mkString(", ")

  /** SQL for the texts of the values of the key, of `t`. */
  val printed: Seq[String] = names.zip(columns).map { case (name, column) => TableKey.printed(s"t.$name", column.kind) }

  /** Operators of enums accept no domain. */
  private val operands = names.zip(columns).map { case (name, column) =>
    column.kind.shape match {
      case PostgresType.Enum(_) => s"t.$name::${column.kind.cast}"
      case _                    => s"t.$name"
    }
  }

  /** Whether binary values of it can be compared. */
  def hasBinary: Boolean = columns.forall(column => column.kind.isSent && TableKey.hasBinary(column.kind))

  /** The keys of `t` after another one. */
  def after(values: Seq[String]): String = compare(">", ">", texts(values))

  /** The keys of `t` up to another one, and itself. */
  def upTo(values: Seq[String]): String = compare("<", "<=", texts(values))

  /** Reads the texts from a row of the table; None: a row does not show them as the server prints them. */
  def reader(relation: Relation): Option[Bytes => Seq[String]] = {
    val places = columns.map(column => relation.columns.indexWhere(_.name == column.name))
    Option.when(places.forall(_ >= 0) && columns.forall(column => isShown(column.kind))) { row =>
      places.zip(columns).map { case (place, column) =>
        val TupleValue(kind, Bytes(array, at, length)) = TupleValue.of(row, place)
        if (kind == 't') new String(array, at, length, UTF_8) else textOf(array, at, length, column.kind)
      }
    }
  }

  /** For each row the number of the first bound that its key does not exceed, or of all bounds. One query. */
  def places(connection: Connection, source: CapturedTable, rows: Seq[Bytes], bounds: Seq[Seq[String]]): Seq[Int] = {
    val cases = bounds.zipWithIndex.map { case (bound, i) => s"WHEN ${upTo(bound)} THEN $i" }
    val values = rows.zipWithIndex.map { case (row, i) => s"(${(of(source, row) :+ i.toString).mkString(", ")})" }
    // The values get the types and collations of the table's columns.
    Sql.query(
      connection,
      text"""SELECT CASE ${cases.mkString(" ")} ELSE ${bounds.size} END FROM (
         |  SELECT ${names.mkString(", ")}, 0 AS $Number FROM ${table.rows} WHERE false
         |  UNION ALL VALUES ${values.mkString(", ")}) AS t ORDER BY $Number""")(_.getInt(1))
  }

  /** The key of a row, in SQL. */
  private def of(source: CapturedTable, row: Bytes): Seq[String] = {
    val relation = source.relation
    if (source.key.map(relation.columns(_).name) != columns.map(_.name))
      throw Conditions.SnapshotInterrupted("table" -> relation.name)
    source.key.zip(columns).map { case (place, column) =>
      val TupleValue(kind, Bytes(array, offset, length)) = TupleValue.of(row, place)
      kind match {
        case 't' => text(new String(array, offset, length, UTF_8), column.kind)
        case 'b' => binary(array, offset, length, column.kind)
        case _ =>
          throw Conditions.ValueNotSent(
            "table" -> relation.name,
            "column" -> column.name,
            "position" -> "during the snapshot")
      }
    }
  }

  private def texts(values: Seq[String]): Seq[String] =
    values.zip(columns).map { case (value, column) => text(value, column.kind) }

  /** @param last
    *   how the last columns compare if the others are equal
    */
  private def compare(operator: String, last: String, values: Seq[String]): String = {
    val sides = operands.zip(values)
    // The form that indexes serve best.
    if (operators.forall(_ == Catalog)) s"(${sides.map(_._1).mkString(", ")}) $last (${sides.map(_._2).mkString(", ")})"
    else {
      def one(i: Int, operator: String) = s"${sides(i)._1} OPERATOR(${operators(i)}.$operator) ${sides(i)._2}"
      sides.indices.init.foldRight(one(sides.size - 1, last)) { (i, rest) =>
        s"(${one(i, operator)} OR ${one(i, "=")} AND $rest)"
      }
    }
  }
}

private[cdc] object TableKey {
  private val Catalog = "pg_catalog"
  private val Number = "\"number of the key\""

  /** None if the table has none, or its replica identity lacks it: a deleted row is not found then. */
  def of(table: TableFacts, columns: Seq[PostgresColumn]): Option[TableKey] = {
    val key = table.primaryKey.flatMap(name => columns.find(_.name == name))
    val isSent = table.identity != "i" || table.primaryKey.forall(table.identityColumns.contains)
    Option.when(key.nonEmpty && key.size == table.primaryKey.size && isSent)(new TableKey(table, key))
  }

  /** Types whose cast to text is what the server prints of them: a cast of others may differ, as `inet` to text has a mask. */
  private val Cast =
    Set("int2", "int4", "int8", "numeric", "text", "varchar", "uuid", "date", "timestamp", "timestamptz", "jsonb")

  /** A column as the server prints it, in SQL. */
  def printed(column: String, kind: PostgresType): String =
    if (Cast(kind.name)) s"$column::text"
    else s"CASE WHEN $column IS DISTINCT FROM NULL THEN pg_catalog.format('%s', $column) END"

  private def text(value: String, kind: PostgresType): String = s"'${value.replace("'", "''")}'::${kind.cast}"

  private val Days = Set("date", "timestamp", "timestamptz")
  private val Natives = Days ++ Set("bool", "int2", "int4", "int8", "float4", "float8", "bytea")

  private def hasBinary(kind: PostgresType): Boolean = kind.shape match {
    case PostgresType.Plain   => Natives(kind.name) || reader(kind).hasBinary
    case PostgresType.Enum(_) => true
    case _                    => false
  }

  /** Whether the text can be made from the binary form. */
  private def isShown(kind: PostgresType): Boolean =
    kind.shape == PostgresType.Plain && Shown(kind.name)

  private val Shown = Set("int2", "int4", "int8", "text", "varchar", "uuid")

  private def textOf(bytes: Array[Byte], at: Int, length: Int, kind: PostgresType): String = kind.name match {
    case "int2" => ByteConverter.int2(bytes, at).toString
    case "int4" => ByteConverter.int4(bytes, at).toString
    case "int8" => ByteConverter.int8(bytes, at).toString
    case _      => reader(kind).binary(bytes, at, length).toString
  }

  private def reader(kind: PostgresType): ValueReader = ValueReader.of("", PostgresColumn("", -1, kind), StringType)

  /** A binary value, in SQL. */
  private def binary(bytes: Array[Byte], at: Int, length: Int, kind: PostgresType): String = kind.name match {
    case "bool"   => (bytes(at) != 0).toString
    case "float4" => text(ByteConverter.float4(bytes, at).toString, kind)
    case "float8" => text(ByteConverter.float8(bytes, at).toString, kind)
    case "bytea"  => text("\\x" + HexFormat.of.formatHex(bytes, at, at + length), kind)
    case "date" =>
      val days = ByteConverter.int4(bytes, at)
      if (days == Int.MaxValue || days == Int.MinValue) infinite(days > 0, kind) else date(days.toLong)
    case "timestamp" | "timestamptz" =>
      val micros = ByteConverter.int8(bytes, at)
      if (micros == Long.MaxValue || micros == Long.MinValue) infinite(micros > 0, kind)
      else {
        val time = LocalTime.ofNanoOfDay(Math.floorMod(micros, DayMicros) * 1000)
        val plain = s"(${date(Math.floorDiv(micros, DayMicros))} + time '$time')"
        if (kind.name == "timestamp") plain else s"($plain AT TIME ZONE 'UTC')"
      }
    case _ => text(textOf(bytes, at, length, kind), kind)
  }

  private val DayMicros = 86400000000L

  /** @param days
    *   since 2000, where PostgreSQL's counting begins
    */
  private def date(days: Long): String = s"(date '2000-01-01' + ($days))"

  private def infinite(isPositive: Boolean, kind: PostgresType): String =
    text(if (isPositive) "infinity" else "-infinity", kind)
}
