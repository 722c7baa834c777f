package io.epochal.cdc.slot

/** Facts of a table.
  *
  * @param kind
  *   `pg_class.relkind`
  * @param identity
  *   `pg_class.relreplident`: n, d, f, or i for an index
  * @param isLogged
  *   neither temporary nor unlogged
  * @param primaryKey
  *   its columns, in their order in the key
  * @param notNull
  *   the columns that are NOT NULL
  * @param keyOperators
  *   for each of them the schema of the operators that compare it, in SQL
  * @param isFiltered
  *   whether row-level security hides rows from the role
  * @param children
  *   the tables that inherit from it
  * @param database
  *   the server's system identifier, its timeline, and the database's name
  */
final private[cdc] case class TableFacts(
    oid: Long,
    schema: String,
    table: String,
    kind: String,
    identity: String,
    isLogged: Boolean,
    isReadable: Boolean,
    isOwned: Boolean,
    primaryKey: Seq[String],
    identityColumns: Seq[String],
    columns: Seq[String],
    notNull: Set[String] = Set.empty,
    keyOperators: Seq[String] = Nil,
    isFiltered: Boolean = false,
    children: Seq[String] = Nil,
    database: String = "") {

  def name: String = s"$schema.$table"

  /** Unique across servers and databases, also of copies of their files. */
  def id: String = s"$database/$oid"

  /** The name in SQL. */
  def sql: String = s"${ServerFacts.name(schema)}.${ServerFacts.name(table)}"

  /** The columns whose old values the log has when one of them changes; with FULL, those that the query uses. */
  def followed: Seq[String] = if (identity == "i") identityColumns else primaryKey

  /** The table with its partitions, but without tables that inherit from it, whose changes are their own. */
  def rows: String = if (kind == "p") sql else s"ONLY $sql"
}
