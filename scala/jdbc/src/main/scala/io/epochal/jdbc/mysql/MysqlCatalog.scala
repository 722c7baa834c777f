package io.epochal.jdbc.mysql

import java.nio.charset.StandardCharsets.UTF_8
import java.sql.{Connection, ResultSet, SQLException}
import java.util.HexFormat
import java.util.Locale

import scala.util.{Random, Using}

import io.epochal.core.ledger.Target
import io.epochal.jdbc.database.{BoundTable, Catalog, TargetColumn, TargetKey, TargetTable}
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{QualifiedName, Sql, TableName}

/** Tables as listed in the information schema. */
private[mysql] object MysqlCatalog extends Catalog {

  /** A name without a schema refers to the URL's database. */
  override def find(connection: Connection, name: TableName): Option[TargetTable] =
    (for {
      schema <- name.schema.fold(Seq(schema(connection, name)))(_.spellings)
      table <- name.table.spellings
    } yield relation(connection, schema, table)).flatten.headOption.map { entry =>
      val targetColumns = columns(connection, entry)
      TargetTable(
        entry,
        Target(entry.toString, identity(connection, entry)),
        targetColumns,
        keys(connection, entry, targetColumns.flatMap(c => MysqlType.of(c).loose.map(c.name -> _)).toMap))
    }

  private def schema(connection: Connection, name: TableName): String =
    name.schema.map(_.text).getOrElse {
      Sql.query(connection, "SELECT DATABASE()")(rows => Option(rows.getString(1))).head.getOrElse("")
    }

  override def tableNames(connection: Connection, name: TableName): Seq[String] =
    sql"""SELECT table_name FROM information_schema.tables WHERE table_schema = ${schema(connection, name)}
       |AND table_type = 'BASE TABLE' ORDER BY table_name LIMIT 1000""".query(connection)(_.getString(1))

  override def newName(connection: Connection, name: TableName): QualifiedName =
    QualifiedName(schema(connection, name), name.table.text)

  override def identify(connection: Connection, table: TargetTable): TargetTable = TargetMark.put(connection, table)
  override def identitySql(table: QualifiedName): String = TargetMark.sql(table)

  override def shapeSql(table: BoundTable): String =
    text"""(SELECT COALESCE(MD5(GROUP_CONCAT(column_name, ' ', column_type, ' ', COALESCE(collation_name, '')
       |ORDER BY ordinal_position)), '') FROM information_schema.columns
       |WHERE table_schema = ${literal(table.table.name.schema)} AND table_name = ${literal(table.table.name.table)}
       |AND column_name IN (${table.columnNames.map(literal).mkString(", ")}))"""

  /** A literal that means the same under any `sql_mode`. */
  def literal(text: String): String =
    if (text.isEmpty) "''" else s"CONVERT(0x${HexFormat.of.formatHex(text.getBytes(UTF_8))} USING utf8mb4)"

  /** A foreign key of a table to itself. */
  def selfReference(connection: Connection, table: QualifiedName): Option[String] =
    sql"""SELECT constraint_name FROM information_schema.key_column_usage
         |WHERE table_schema = ${table.schema} AND table_name = ${table.table}
         |AND referenced_table_schema = table_schema AND referenced_table_name = table_name ORDER BY 1"""
      .query(connection)(_.getString(1))
      .headOption

  /** A table with a foreign key to another one of the tables, which are in one schema. */
  def reference(connection: Connection, tables: Seq[QualifiedName]): Option[(QualifiedName, String)] = {
    val names = Sql.list(tables.map(_.table))
    sql"""SELECT table_name, constraint_name FROM information_schema.key_column_usage
         |WHERE table_schema = ${tables.head.schema} AND referenced_table_schema = table_schema
         |AND table_name IN $names AND referenced_table_name IN $names AND referenced_table_name <> table_name
         |ORDER BY 1, 2"""
      .query(connection)(rows => tables.head.copy(table = rows.getString(1)) -> rows.getString(2))
      .headOption
  }

  override def exists(connection: Connection, table: QualifiedName): Boolean =
    relation(connection, table.schema, table.table).nonEmpty

  private def relation(connection: Connection, schema: String, table: String): Option[QualifiedName] =
    sql"""SELECT table_schema, table_name, table_type, COALESCE(engine, 'none')
          |FROM information_schema.tables WHERE table_schema = $schema AND table_name = $table"""
      .query(connection) { rows =>
        val name = QualifiedName(rows.getString(1), rows.getString(2))
        if (!Set("BASE TABLE", "SYSTEM VERSIONED")(rows.getString(3)))
          refuse(name, s"it is a ${rows.getString(3).toLowerCase(Locale.ROOT)}", "Name an ordinary table.")
        val engine = rows.getString(4)
        if (!engine.equalsIgnoreCase("InnoDB"))
          refuse(
            name,
            s"its engine is $engine, and only InnoDB is known to keep rows and ledger in one transaction",
            s"ALTER TABLE $name ENGINE=InnoDB.")
        name
      }
      .headOption

  /** The collation of new text columns in keys. */
  def exactCollation(connection: Connection): String = {
    val available =
      sql"SELECT collation_name FROM information_schema.collations WHERE collation_name IN ${Sql.list(MysqlType.ExactCollations)}"
        .query(connection)(_.getString(1))
    MysqlType.ExactCollations
      .find(available.contains)
      .getOrElse(
        throw JdbcOptions.unsupported(
          "make a table with a text as key",
          s"MySQL ${MysqlVersion.of(connection).text} has no collation that compares texts as Spark does (8.0.17 has)",
          "Upgrade the server; or make the table yourself and set {option:keyComparison=database}."))
  }

  private def columns(connection: Connection, table: QualifiedName): Seq[TargetColumn] =
    sql"""SELECT column_name, is_nullable, column_default, extra, generation_expression, data_type, column_type,
        |character_maximum_length, character_octet_length, numeric_precision, numeric_scale, datetime_precision, collation_name, column_comment
        |FROM information_schema.columns WHERE table_schema = ${table.schema} AND table_name = ${table.table} ORDER BY ordinal_position"""
      .query(connection) { rows =>
        val extra = rows.getString(4).toLowerCase(Locale.ROOT)
        val increments = extra.contains("auto_increment")
        val kind = MysqlType(
          rows.getString(6).toLowerCase(Locale.ROOT),
          rows.getString(7).toLowerCase(Locale.ROOT),
          length(rows, 8),
          length(rows, 9),
          rows.getInt(10),
          rows.getInt(11),
          rows.getInt(12),
          rows.getString(13),
          increments)
        TargetColumn(
          rows.getString(1),
          kind,
          nullable = rows.getString(2) == "YES",
          // MariaDB prints the NULL of a column without a default.
          filled = rows.getString(3) != null && rows.getString(3) != "NULL" || increments,
          generated =
            Option(rows.getString(5)).exists(_.nonEmpty) || extra.contains("row start") || extra.contains("row end"),
          isPlain = extra.isEmpty && rows.getString(14).isEmpty && !Set("enum", "set")(kind.name)
        )
      }
      .map { column =>
        val kind = MysqlType.of(column)
        column.copy(columnType =
          kind.copy(characters = Option(kind.collation).flatMap(CharacterSets.of(connection, _))))
      }

  /** A LONGTEXT can hold 4 GiB, more than an Int. */
  private def length(rows: ResultSet, column: Int): Option[Int] = {
    val number = rows.getLong(column)
    Option.when(!rows.wasNull && number < Int.MaxValue)(number.toInt)
  }

  /** Whether the table has one unique index, on exactly these columns. */
  def hasOnlyKey(connection: Connection, table: QualifiedName, columns: Seq[String]): Boolean = {
    val indexes = unique(connection, table)((index, column) => (index, column))
    indexes.map(_._1).distinct.size == 1 && indexes.map(_._2).toSet == columns.map(Option(_)).toSet
  }

  /** Unique indexes on whole columns. */
  private def keys(connection: Connection, table: QualifiedName, loose: Map[String, String]): Seq[TargetKey] =
    TargetKey.ofIndexes(unique(connection, table)((index, column) => (index, column, column.flatMap(loose.get))))

  /** @param read
    *   reads an index and a column of it; None: a part of a column, or an expression
    */
  private def unique[A](connection: Connection, table: QualifiedName)(read: (String, Option[String]) => A): Seq[A] =
    sql"""SELECT index_name, CASE WHEN sub_part IS NULL THEN column_name END FROM information_schema.statistics
         |WHERE table_schema = ${table.schema} AND table_name = ${table.table} AND non_unique = 0"""
      .query(connection)(rows => read(rows.getString(1), Option(rows.getString(2))))
}

/** A mark that distinguishes a table from a recreated one of the same name.
  *
  * InnoDB's own table id requires the PROCESS privilege and changes with every OPTIMIZE. So we append a number of our own to the
  * table's comment: `[epochal_target_<number>]`. It survives TRUNCATE and ALTER and disappears with the table. Adding it takes the
  * ALTER privilege, once; without that the table has no number, and a recreated table goes unnoticed.
  */
private[mysql] object TargetMark {

  private val Prefix = "[epochal_target_"

  // One lock per table: an ALTER that waits must not delay those of other tables.
  private val LockPrefix = "epochal_target_"
  private val LockSeconds = 30
  private val LongestComment = 2048

  def sql(table: QualifiedName): String =
    text"""(SELECT CASE WHEN LOCATE('$Prefix', table_comment) > 0
       |THEN CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(table_comment, '$Prefix', -1), ']', 1) AS SIGNED) END
       |FROM information_schema.tables WHERE table_schema = ${MysqlCatalog.literal(table.schema)}
       |AND table_name = ${MysqlCatalog.literal(table.table)})"""

  /** Commits the transaction. Serialized: of two concurrent calls, each would otherwise believe in its own number. */
  def put(connection: Connection, table: TargetTable): TargetTable =
    if (table.target.oid.isDefined) table
    else {
      val lock =
        s"CONCAT('$LockPrefix', MD5(CONCAT(${MysqlCatalog.literal(table.name.schema)}, '.', ${MysqlCatalog.literal(table.name.table)})))"
      Sql.query(connection, s"SELECT GET_LOCK($lock, $LockSeconds)")(_.getInt(1)): Unit
      // On a lost connection it fails, too: the first error counts.
      val release: AutoCloseable = () => Sql.query(connection, s"SELECT RELEASE_LOCK($lock)")(_.getInt(1)): Unit
      Using.resource(release) { _ =>
        if (MysqlCatalog.identity(connection, table.name).isEmpty) mark(connection, table.name)
        table.copy(target = table.target.copy(oid = MysqlCatalog.identity(connection, table.name)))
      }
    }

  private def mark(connection: Connection, table: QualifiedName): Unit = {
    val comment = sql"""SELECT table_comment FROM information_schema.tables
       |WHERE table_schema = ${table.schema} AND table_name = ${table.table}"""
      .query(connection)(_.getString(1))
      .headOption
      .getOrElse("")
    val newComment = s"$comment $Prefix${Random.between(1L, 1000000000000L)}]".trim
    // Whether a backslash must be escaped depends on sql_mode, so comments with one are not marked.
    if (newComment.length <= LongestComment && !newComment.contains("\\") && !LocalInfile.isIn(comment))
      try
        Sql.run(connection, s"ALTER TABLE ${MysqlDialect.quote(table)} COMMENT = '${newComment.replace("'", "''")}'")
      catch { case error: SQLException if MysqlErrors.denied(error) => () }
  }
}
