package io.epochal.jdbc.postgres

import java.sql.Connection

import io.epochal.core.error.EpochalException
import io.epochal.jdbc.database.{BoundTable, WriteMode}
import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Parts of a table's definition with which some transports would store no rows, other rows, or fail depending on the order of rows:
  * rules, and a foreign key to the table itself.
  */
private[postgres] object TableObstacles {

  def first(connection: Connection, bound: BoundTable, options: JdbcOptions): Option[EpochalException] =
    bound.table.target.oid.flatMap(oid =>
      rule(connection, oid, bound).orElse(reference(connection, oid, bound, options)))

  /** Tables are changed one after the other, and an action of a foreign key would change rows whose changes are in the feed, too. */
  def between(connection: Connection, tables: Seq[BoundTable]): Option[EpochalException] = {
    val oids = Sql.list(tables.flatMap(_.table.target.oid))
    sql"""SELECT quote_ident(c.conname), c.conrelid::bigint, c.confdeltype = 'a' AND c.confupdtype = 'a'
         |FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid <> c.confrelid AND c.conparentid = 0
         |AND c.conrelid::bigint IN $oids AND c.confrelid::bigint IN $oids
         |AND NOT (c.condeferred AND c.confdeltype = 'a' AND c.confupdtype = 'a') ORDER BY 1"""
      .query(connection)(rows => (rows.getString(1), rows.getLong(2), rows.getBoolean(3)))
      .headOption
      .map { case (name, oid, isPlain) =>
        val child = tables.find(_.table.target.oid.contains(oid)).get.table.name
        val alter = s"ALTER TABLE ${PostgresDialect.quote(child)}"
        JdbcOptions.unsupported(
          s"write to $child and the table that its constraint $name refers to",
          if (isPlain) "it is checked before the rows of both are stored" else "it changes or keeps rows at once",
          if (isPlain) s"$alter ALTER CONSTRAINT $name DEFERRABLE INITIALLY DEFERRED."
          else s"$alter DROP CONSTRAINT $name. The source checks it."
        )
      }
  }

  /** Rules apply to INSERT, but not to COPY; with those for INSERT or UPDATE the server refuses ON CONFLICT. */
  private def rule(connection: Connection, oid: Long, bound: BoundTable): Option[EpochalException] = {
    val events = Seq("3" -> "INSERT") ++ (bound.mode match {
      case upsert: WriteMode.Upsert => Seq("2" -> "UPDATE") ++ upsert.operation.map(_ => "4" -> "DELETE")
      case WriteMode.Append         => Nil
    })
    sql"""SELECT quote_ident(r.rulename) AS name, r.ev_type::text AS event, is_instead
         |FROM pg_rewrite r WHERE r.ev_class = $oid::bigint::oid AND r.ev_enabled IN ('O', 'A')
         |  AND r.ev_type::text IN ${Sql.list(events.map(_._1))}
         |  AND (r.is_instead OR r.ev_type::text <> '4') ORDER BY r.rulename"""
      .query(connection)(rows => rows.getString("name") -> rows.getString("event"))
      .headOption
      .map { case (name, event) =>
        val table = PostgresDialect.quote(bound.table.name)
        JdbcOptions.unsupported(
          s"write to ${bound.table.name}",
          s"its rule $name rewrites each ${events.toMap.apply(event)}, and rows that are copied or merged bypass it",
          s"ALTER TABLE $table DISABLE RULE $name. A trigger sees the rows of every transport."
        )
      }
  }

  /** A row may come before the one that it refers to: in another statement, unless all rows go by one. */
  private def reference(
      connection: Connection,
      oid: Long,
      bound: BoundTable,
      options: JdbcOptions): Option[EpochalException] = {
    val isPrepared = options.transport == TransportChoice.Prepared
    val isDivided = bound.mode match {
      case upsert: WriteMode.Upsert => upsert.operation.isDefined
      case WriteMode.Append         => options.transport != TransportChoice.Inline
    }
    def key(condition: Sql): Option[String] =
      sql"""SELECT quote_ident(c.conname) FROM pg_constraint c WHERE c.contype = 'f' AND c.conrelid = $oid::bigint::oid
           |AND c.confrelid = c.conrelid AND $condition ORDER BY 1""".query(connection)(_.getString(1)).headOption
    def refusal(name: String, reason: String, remedy: String): EpochalException =
      JdbcOptions.unsupported(
        s"write to ${bound.table.name}${if (isPrepared) " with {option:transport=prepared}" else ""}",
        s"its constraint $name refers to the table itself, and $reason",
        remedy)
    if (isPrepared)
      key(sql"true").map(refusal(_, "each task prepares its rows without those of others", JdbcOptions.noTransport))
    else if (isDivided)
      key(sql"NOT c.condeferred").map { name =>
        val table = PostgresDialect.quote(bound.table.name)
        refusal(
          name,
          "is checked before all rows of an epoch are stored",
          s"ALTER TABLE $table ALTER CONSTRAINT $name DEFERRABLE INITIALLY DEFERRED.")
      }
    else None
  }
}
