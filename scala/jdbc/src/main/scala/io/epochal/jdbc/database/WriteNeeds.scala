package io.epochal.jdbc.database

import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.kit.database.QualifiedName

/** The statements of a write that take privileges.
  *
  * @param target
  *   its name, or the name that it will get
  * @param bound
  *   None: the target is created
  * @param deadLetters
  *   the table of bad rows, which may be missing
  * @param keepsLedger
  *   a streaming query; a batch write keeps no ledger
  * @param denied
  *   the database has denied a statement: of the tables beside the target, all privileges count that are to be granted
  */
final case class WriteNeeds(
    options: JdbcOptions,
    target: QualifiedName,
    bound: Option[BoundTable],
    deadLetters: Option[QualifiedName],
    keepsLedger: Boolean,
    denied: Boolean = false) {
  import WriteNeeds._

  /** The privileges that a table beside the target must have. */
  def on(table: KeptTable): Seq[String] = if (denied) table.grants else table.needs

  def transport: TransportChoice =
    if (options.tableColumn.nonEmpty) TransportChoice.Inline else options.transport

  /** On the columns of the target, or on the whole table: those to store rows with, less what the transport needs. */
  def onTarget: Seq[String] =
    (if (options.upsert) Seq("SELECT", "INSERT", "UPDATE") else Seq("INSERT")) ++
      Option.when(options.changes)("DELETE") ++ Option.when(bound.exists(_.alterations.nonEmpty))("ALTER")

  /** The table of bad rows. */
  def deadLetterTable: Option[KeptTable] = deadLetters.map(KeptTable(_, Seq("INSERT"), Seq("INSERT")))

  /** The tables of the sink's own that its first steps use; missing ones are created. */
  def keptTables: Seq[KeptTable] =
    if (keepsLedger) Ledger.map { case (table, needs, grants) =>
      KeptTable(target.copy(table = table), needs, grants)
    }
    else Nil
}

private[jdbc] object WriteNeeds {

  /** The tables of the ledger, with the privileges on each. */
  private val Ledger = Seq(
    ("epochal_ledger", Seq("SELECT", "UPDATE"), Seq("SELECT", "INSERT", "UPDATE")),
    ("epochal_ledger_retired", Seq("SELECT"), Seq("SELECT", "INSERT", "DELETE")),
    ("epochal_ledger_history", Seq("SELECT", "INSERT"), Seq("SELECT", "INSERT", "DELETE"))
  )

  /** The ledger first. */
  val LedgerTables: Seq[String] = Ledger.map(_._1)
}
