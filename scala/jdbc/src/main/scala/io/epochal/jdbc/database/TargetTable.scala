package io.epochal.jdbc.database

import org.apache.spark.sql.types.StructField
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.ledger.Target
import io.epochal.jdbc.option.QualifiedName
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.sink.row.BadValue
import io.epochal.kit.spark.memory.{BinaryRow, Memory}

/** A column's type as its dialect knows it. */
trait ColumnType extends Serializable {

  /** As a person would declare it: `numeric(10,2)`. */
  def declared: String
}

/** A column of the target.
  *
  * @param nullable
  *   false also where the database would take a NULL but store something else (SQLite's `INTEGER PRIMARY KEY`)
  * @param filled
  *   the database gives it a value when a row brings none
  * @param generated
  *   the database computes it always: no row can bring a value
  */
final case class TargetColumn(
    name: String,
    columnType: ColumnType,
    nullable: Boolean,
    filled: Boolean,
    generated: Boolean
)

/** A primary key or unique index that can stand behind an upsert.
  *
  * @param loose
  *   of its columns those that can take for equal what Spark tells apart, and by what: `collation NOCASE`
  */
final case class TargetKey(columns: Set[String], loose: Map[String, String] = Map.empty)

/** A table as found in the database. */
final case class TargetTable(name: QualifiedName, target: Target, columns: Seq[TargetColumn], keys: Seq[TargetKey]) {

  /** A name that no column has, in any case. */
  def unused(name: String): String =
    Iterator.iterate(name)(_ + "_").find(n => !columns.exists(_.name.equalsIgnoreCase(n))).get
}

/** A column of the query and the table's column that takes it.
  *
  * @param ordinal
  *   place in the query's rows
  * @param required
  *   a NULL here is a bad row
  * @param identifies
  *   a row that deletes another has it too: a key, or the order
  */
final case class BoundColumn(
    field: StructField,
    ordinal: Int,
    column: TargetColumn,
    required: Boolean,
    identifies: Boolean = false)

/** How rows go into the table, in the table's spelling of names. */
sealed trait WriteMode

object WriteMode {
  case object Append extends WriteMode

  /** @param keys
    *   in the order of the table's columns: all sinks then take a table's rows in one order
    * @param loose
    *   of them those that the database compares less strictly than Spark, and by what; empty unless that is accepted
    * @param order
    *   of rows with the same key the greatest wins; None: there must be none
    * @param updated
    *   the columns that a row of the same key replaces; never empty
    * @param operation
    *   None: no row deletes
    */
  final case class Upsert(
      keys: Seq[String],
      order: Option[String],
      updated: Seq[String],
      operation: Option[OperationColumn],
      loose: Map[String, String] = Map.empty)
      extends WriteMode
}

/** The column of the query that says what a row does. Rows carry it to the database as one more column, a boolean: whether
  * the row deletes.
  *
  * @param ordinal
  *   place in the query's rows
  * @param name
  *   of that boolean; no column of the table has it
  */
final case class OperationColumn(ordinal: Int, name: String)

/** A query's columns bound to a table: all that a load has to know.
  *
  * @param columns
  *   in the order of the query's rows
  * @param nulCharacter
  *   what becomes of the NUL character in texts
  * @param added
  *   names and types of columns that the table gets with the first epoch
  * @param deadLetters
  *   the table that takes bad rows
  * @param shape
  *   the types of the table's columns when the rows were bound to them
  * @param trustedOwners
  *   see [[Trust]]
  */
final case class BoundTable(
    table: TargetTable,
    columns: Seq[BoundColumn],
    mode: WriteMode,
    nulCharacter: NulCharacter = NulCharacter.Error,
    added: Seq[(String, String)] = Nil,
    deadLetters: Option[QualifiedName] = None,
    shape: String = "",
    trustedOwners: Seq[String] = Nil) {
  def trust: Trust = Trust(table.name, trustedOwners)

  def columnNames: Seq[String] = columns.map(_.column.name)

  def operation: Option[OperationColumn] = mode match {
    case upsert: WriteMode.Upsert => upsert.operation
    case WriteMode.Append         => None
  }

  /** The columns of the rows as tasks encode them: the table's, then whether the row deletes. */
  def incoming: Seq[String] = columnNames ++ operation.map(_.name)
}

/** Whom the sink trusts with the tables that it keeps beside a target (K19).
  *
  * @param owners
  *   roles that the user names, beside those who could act as the sink's own role anyway
  */
final case class Trust(target: QualifiedName, owners: Seq[String])

/** Reads what a row of `mode=changes` does. A row that inserts and one that updates are the same to us: stored by its key,
  * so that changes that come twice, or after a snapshot that has them, leave the right rows.
  */
private[jdbc] object Operation {

  /** The words, in lower case: `true` deletes. The short ones are Debezium's. */
  val Words: Seq[(String, Boolean)] =
    Seq("insert" -> false, "update" -> false, "delete" -> true, "i" -> false, "c" -> false, "r" -> false) ++
      Seq("u" -> false, "d" -> true)

  private val texts: Array[Array[Byte]] = Words.map(_._1.getBytes("US-ASCII")).toArray
  private val deleting: Array[Boolean] = Words.map(_._2).toArray

  /** Whether the row deletes.
    *
    * @throws BadValue
    *   it is NULL or another word
    */
  def deletes(row: BinaryRow, ordinal: Int): Boolean = {
    if (row.isNullAt(ordinal)) throw new BadValue(ordinal, "it is NULL, not insert (i, c, r), update (u) or delete (d)")
    val base = row.base
    val address = row.address(ordinal)
    val length = row.length(ordinal)
    var i = 0
    while (i < texts.length && !is(texts(i), base, address, length)) i += 1
    if (i == texts.length) throw new BadValue(ordinal, unknown(base, address, length))
    deleting(i)
  }

  private def is(word: Array[Byte], base: AnyRef, address: Long, length: Int): Boolean =
    word.length == length && {
      var i = 0
      // With this bit set a capital letter is the small one, and nothing else becomes a small letter.
      while (i < length && (Memory.getByte(base, address + i) | 0x20) == word(i)) i += 1
      i == length
    }

  private def unknown(base: AnyRef, address: Long, length: Int): String = {
    val text =
      UTF8String.fromAddress(base, address, math.min(length, LongestShown)).toString.replaceAll("\\p{Cntrl}", "?")
    s"it is '$text', not insert (i, c, r), update (u) or delete (d)"
  }

  private val LongestShown = 40
}
