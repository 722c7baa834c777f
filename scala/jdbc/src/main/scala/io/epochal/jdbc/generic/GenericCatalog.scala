package io.epochal.jdbc.generic

import java.sql.{Connection, DatabaseMetaData, ResultSet, Types}
import java.util.Locale

import scala.util.Using

import io.epochal.core.ledger.Target
import io.epochal.jdbc.database.{BoundTable, Catalog, TargetColumn, TargetTable}
import io.epochal.kit.database.{NamePart, QualifiedName, TableName}

/** Tables as JDBC's metadata shows them. In databases without schemas, the catalog takes the schema's place. */
private[generic] object GenericCatalog extends Catalog {

  override def find(connection: Connection, name: TableName): Option[TargetTable] = {
    suitable(connection)
    (for {
      schema <- name.schema.fold(Seq(current(connection)))(spellings)
      table <- spellings(name.table)
      (entry, kind) <- tables(connection, schema, table) if entry.table == table && entry.schema == schema
    } yield (entry, kind)).headOption.map { case (entry, kind) =>
      if (!kind.endsWith("TABLE") || kind.contains("TEMPORARY"))
        refuse(entry, s"it is a ${kind.toLowerCase(Locale.ROOT)}", "Name an ordinary table.")
      TargetTable(entry, Target(entry.toString, None), columns(connection, entry), Nil)
    }
  }

  override def tableNames(connection: Connection, name: TableName): Seq[String] =
    tables(connection, name.schema.fold(current(connection))(_.text), "%").map(_._1.table).take(1000)

  override def newName(connection: Connection, name: TableName): QualifiedName = {
    val metadata = connection.getMetaData
    def fold(part: NamePart): String =
      if (part.quoted) part.text
      else if (metadata.storesUpperCaseIdentifiers) part.text.toUpperCase(Locale.ROOT)
      else if (metadata.storesLowerCaseIdentifiers) part.text.toLowerCase(Locale.ROOT)
      else part.text
    QualifiedName(name.schema.map(fold).getOrElse(current(connection)), fold(name.table))
  }

  override def shapeSql(table: BoundTable): String = "'unknown'"

  override def exists(connection: Connection, table: QualifiedName): Boolean =
    tables(connection, table.schema, "%").exists(_._1.table.equalsIgnoreCase(table.table))

  /** Refuses tables that would silently break a promise. */
  private def suitable(connection: Connection): Unit = {
    val metadata = connection.getMetaData
    val product = metadata.getDatabaseProductName
    val quote = String.valueOf(metadata.getIdentifierQuoteString).trim
    if (!metadata.supportsTransactions)
      refuse(product, "it has no transactions", "Write to a database that has them.")
    if (quote != "\"") refuse(product, s"it does not quote names by SQL's rule, but with '$quote'", Own)
    if (product.startsWith("Oracle")) refuse(product, "it keeps an empty text as NULL", Own)
  }

  private def current(connection: Connection): String =
    if (hasSchemas(connection)) Option(connection.getSchema).getOrElse("")
    else Option(connection.getCatalog).getOrElse("")

  private def hasSchemas(connection: Connection): Boolean = connection.getMetaData.supportsSchemasInTableDefinitions

  private def spellings(part: NamePart): Seq[String] =
    if (part.quoted) Seq(part.text)
    else Seq(part.text, part.text.toUpperCase(Locale.ROOT), part.text.toLowerCase(Locale.ROOT)).distinct

  /** @param pattern
    *   `%`, or a table's name
    */
  private def tables(connection: Connection, schema: String, pattern: String): Seq[(QualifiedName, String)] =
    describe(connection, schema, pattern)(_.getTables(_, _, _, null))(rows =>
      (QualifiedName(schema, rows.getString("TABLE_NAME")), rows.getString("TABLE_TYPE")))

  private def columns(connection: Connection, table: QualifiedName): Seq[TargetColumn] =
    describe(connection, table.schema, table.table)(_.getColumns(_, _, _, "%")) { rows =>
      // Read from left to right, as some drivers require.
      val entry = rows.getString("TABLE_NAME")
      val column = rows.getString("COLUMN_NAME")
      val number = rows.getInt("DATA_TYPE")
      val typeName = rows.getString("TYPE_NAME")
      val size = rows.getInt("COLUMN_SIZE")
      val digits = rows.getInt("DECIMAL_DIGITS")
      val scale = if (rows.wasNull) GenericType.fraction(number, size) else digits
      // A double needs 53 binary or 15 decimal digits.
      val isSingle = number == Types.FLOAT && size < (if (rows.getInt("NUM_PREC_RADIX") == 10) 15 else 53)
      val nullable = rows.getInt("NULLABLE") != DatabaseMetaData.columnNoNulls
      val hasDefault = rows.getString("COLUMN_DEF") != null
      val counts = rows.getString("IS_AUTOINCREMENT") == "YES"
      (
        entry,
        TargetColumn(
          column,
          GenericType(typeName, if (isSingle) Types.REAL else number, size, scale),
          nullable = nullable && !counts,
          filled = hasDefault || counts,
          generated = rows.getString("IS_GENERATEDCOLUMN") == "YES" && !counts))
    }.collect { case (entry, column) if entry == table.table => column }

  private def describe[A](connection: Connection, schema: String, pattern: String)(
      ask: (DatabaseMetaData, String, String, String) => ResultSet)(read: ResultSet => A): Seq[A] = {
    val metadata = connection.getMetaData
    val (catalog, within) =
      if (hasSchemas(connection)) (connection.getCatalog, escape(metadata, schema)) else (schema, null)
    val name = if (pattern == "%") pattern else escape(metadata, pattern)
    Using.resource(ask(metadata, catalog, within, name))(rows =>
      Iterator.continually(rows).takeWhile(_.next()).map(read).toVector)
  }

  private def escape(metadata: DatabaseMetaData, name: String): String = {
    val escape = Option(metadata.getSearchStringEscape).getOrElse("")
    if (escape.isEmpty) name
    else name.replace(escape, escape + escape).replace("_", s"${escape}_").replace("%", s"$escape%")
  }

  private val Own = "Implement io.epochal.jdbc.dialect.JdbcDialect for it."
}
