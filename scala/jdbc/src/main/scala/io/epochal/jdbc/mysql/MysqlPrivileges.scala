package io.epochal.jdbc.mysql

import java.sql.{Connection, SQLException}
import java.util.Locale
import java.util.regex.Pattern

import io.epochal.jdbc.database.{KeptTable, WriteNeeds}
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{QualifiedName, Sql}

/** The privileges that a write lacks, as SHOW GRANTS shows them: those of the user itself, on the server, a database or a table.
  * Where it has roles or partial revokes, nothing is known to be missing. Other accounts' rules can apply to the user, too: only
  * a denied statement, or the effective privileges on an existing table, show that something is. A statement is denied when it is
  * prepared, which changes nothing.
  */
private[mysql] object MysqlPrivileges {

  def missing(connection: Connection, needs: WriteNeeds): Seq[String] =
    Grants.of(Sql.query(connection, "SHOW GRANTS")(_.getString(1))) match {
      case Some(grants) if grants.lacking(needs, Set.empty).nonEmpty =>
        val present =
          sql"SELECT table_name FROM information_schema.tables WHERE table_schema = ${needs.target.schema}"
            .query(connection)(_.getString(1))
        val user = Sql.query(connection, "SELECT CURRENT_USER()")(_.getString(1)).head
        val lacking = grants.lacking(needs, present.toSet).map(grant => s"$grant TO ${account(user)}")
        def isCertain =
          isLocked(connection, needs) || cannotMake(connection, needs, present.toSet) || cannotDelete(connection, needs)
        if (needs.denied || lacking.nonEmpty && isCertain) lacking else Nil
      case _ => Nil
    }

  /** Whether no column of an existing table has a privilege that the write needs. */
  private def isLocked(connection: Connection, needs: WriteNeeds): Boolean = {
    val tables = needs.keptTables ++ needs.bound.map(_ => KeptTable(needs.target, needs.onTarget, needs.onTarget))
    val effective =
      sql"""SELECT table_name, privileges FROM information_schema.columns
         |WHERE table_schema = ${needs.target.schema} AND table_name IN ${Sql.list("" +: tables.map(_.name.table))}"""
        .query(connection)(row => row.getString(1) -> row.getString(2).toUpperCase(Locale.ROOT).split(',').toSet)
        .groupMap(_._1)(_._2)
    tables.exists(table =>
      effective
        .get(table.name.table)
        .exists(holders => table.needs.filter(OfColumns).exists(privilege => !holders.exists(_(privilege)))))
  }

  /** Whether the server denies to make a table that is missing. */
  private def cannotMake(connection: Connection, needs: WriteNeeds, present: Set[String]): Boolean = {
    val missing =
      (needs.keptTables.map(_.name) ++ Option.when(needs.bound.isEmpty)(needs.target)).filterNot(t => present(t.table))
    val temporary = Option.when(needs.options.upsert)(needs.target.copy(table = "epochal_incoming"))
    def isDenied(kind: String)(table: QualifiedName): Boolean =
      denies(connection, s"CREATE $kind ${MysqlDialect.quote(table)} (id INT)")
    missing.exists(isDenied("TABLE")) || temporary.exists(isDenied("TEMPORARY TABLE"))
  }

  private def cannotDelete(connection: Connection, needs: WriteNeeds): Boolean =
    needs.options.changes && needs.bound.isDefined &&
      denies(connection, s"DELETE FROM ${MysqlDialect.quote(needs.target)}")

  private def denies(connection: Connection, statement: String): Boolean = {
    Sql.run(connection, s"SET @epochal_statement = ${MysqlCatalog.literal(statement)}")
    try {
      Sql.run(connection, "PREPARE epochal_statement FROM @epochal_statement")
      Sql.run(connection, "DEALLOCATE PREPARE epochal_statement")
      false
    } catch { case error: SQLException if MysqlErrors.denied(error) => true }
  }

  private val OfColumns = Set("SELECT", "INSERT", "UPDATE")

  /** `'name'@'host'` */
  private def account(user: String): String = {
    def quote(part: String): String = s"'${part.replace("'", "''")}'"
    val at = user.lastIndexOf('@')
    s"${quote(user.take(at))}@${quote(user.drop(at + 1))}"
  }
}

/** A line of SHOW GRANTS.
  *
  * @param covers
  *   whether it applies to a table of a database; None: to the database itself
  */
final private case class Grant(privileges: Set[String], covers: (String, Option[String]) => Boolean)

final private class Grants(grants: Seq[Grant]) {

  private def holds(privilege: String, schema: String, table: Option[String]): Boolean =
    grants.exists(grant => (grant.privileges("ALL") || grant.privileges(privilege)) && grant.covers(schema, table))

  /** The missing privileges, without the user: for each table that exists, and once for all that will be created.
    *
    * @param present
    *   the tables that the user can see
    */
  def lacking(needs: WriteNeeds, present: Set[String]): Seq[String] = {
    val schema = needs.target.schema
    val lock = KeptTable(
      needs.target.copy(table = "epochal_ledger_lock"),
      Seq("SELECT", "UPDATE"),
      Seq("SELECT", "INSERT", "UPDATE"))
    val target = KeptTable(needs.target, needs.onTarget, needs.onTarget)
    val deadLetterTable = needs.deadLetterTable.filter(_.name.schema == schema)
    val tables = target +: (needs.keptTables ++ Option.when(needs.keepsLedger)(lock) ++ deadLetterTable)
    val (existing, others) =
      tables.partition(table => present(table.name.table) || table == target && needs.bound.isDefined)
    def lacks(table: KeptTable): Boolean = !needs.on(table).forall(holds(_, schema, Some(table.name.table)))
    val own =
      existing.filter(lacks).map(table => s"GRANT ${table.grants.mkString(", ")} ON ${MysqlDialect.quote(table.name)}")
    val creation = others.flatMap(_.grants).distinct :+ "CREATE"
    val creates =
      others.nonEmpty && others.exists(table => lacks(table) || !holds("CREATE", schema, Some(table.name.table)))
    val temporary = "CREATE TEMPORARY TABLES"
    val onSchema = (if (creates) creation else Nil) ++
      Option.when(needs.options.upsert && !holds(temporary, schema, None))(temporary)
    own ++ Option.when(onSchema.nonEmpty)(s"GRANT ${onSchema.mkString(", ")} ON ${MysqlDialect.quote(schema)}.*")
  }
}

private object Grants {
  private val Name = "`((?:[^`]|``)*)`"
  private val OnTable = s"GRANT (.+) ON $Name\\.$Name TO .*".r
  private val OnDatabase = s"GRANT (.+) ON $Name\\.\\* TO .*".r
  private val OnServer = "GRANT (.+) ON \\*\\.\\* TO .*".r
  private val OnOthers = "GRANT (?:PROXY ON .*|.+ ON (?:PROCEDURE|FUNCTION|PACKAGE(?: BODY)?) `.*)".r

  /** None: a line has another form, such as that of a role. */
  def of(lines: Seq[String]): Option[Grants] = {
    val read = lines.filterNot(OnOthers.matches(_)).map(line => of(line))
    Option.when(read.forall(_.isDefined))(new Grants(read.flatten))
  }

  private def of(line: String): Option[Grant] = line match {
    case OnServer(privileges) => Some(Grant(privilegeNames(privileges), (_, _) => true))
    case OnTable(privileges, schema, table) =>
      Some(
        Grant(
          privilegeNames(privileges),
          (inSchema, inTable) =>
            inSchema.equalsIgnoreCase(plain(schema)) && inTable.exists(_.equalsIgnoreCase(plain(table)))))
    case OnDatabase(privileges, pattern) =>
      Some(Grant(privilegeNames(privileges), (inSchema, _) => like(plain(pattern)).matcher(inSchema).matches))
    case _ => None
  }

  private def plain(name: String): String = name.replace("``", "`")

  /** Privileges on columns count as if they were on the table: which columns is left to the server. */
  private def privilegeNames(privileges: String): Set[String] =
    privileges
      .replaceAll("\\((?:`(?:[^`]|``)*`|[^)`])*\\)", "")
      .split(',')
      .map(_.trim.toUpperCase(Locale.ROOT).stripSuffix(" PRIVILEGES"))
      .toSet

  /** The wildcards of a database's name in GRANT. */
  private def like(pattern: String): Pattern = Pattern.compile(
    "\\\\?.".r
      .findAllIn(pattern)
      .map {
        case "%"                     => ".*"
        case "_"                     => "."
        case part if part.length > 1 => Pattern.quote(part.drop(1))
        case other                   => Pattern.quote(other)
      }
      .mkString,
    Pattern.CASE_INSENSITIVE
  )
}
