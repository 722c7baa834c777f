package io.epochal.jdbc.option

import io.epochal.kit.database.{NamePart, TableName}

/** The option `dbtable` of several tables: the table's part has `{table}`, and may have `{schema}`. */
private[jdbc] object TableRule {
  private val (schema, table) = ("{schema}", "{table}")

  def isRule(name: TableName): Boolean =
    name.table.text.contains(table) && !name.schema.exists(part => part.text.contains('{'))

  /** The table of a source's table, spelled as there.
    *
    * @param source
    *   `schema.table`, or `table`
    */
  def name(rule: TableName, source: String): TableName = {
    val dot = source.indexOf('.')
    val text = rule.table.text.replace(schema, source.take(math.max(dot, 0))).replace(table, source.drop(dot + 1))
    TableName(rule.schema, NamePart(text, quoted = true))
  }
}
