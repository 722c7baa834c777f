package io.epochal.cdc.slot

import java.sql.Connection

import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** The server's state that decides whether a table's changes can be captured: read once, checked by [[Preflight]]. */
final private[cdc] case class ServerFacts(
    server: Server,
    slot: Option[SlotFacts],
    publication: Option[PublicationFacts],
    tables: Seq[TableFacts])

private[cdc] object ServerFacts {

  def of(connection: Connection, needs: CaptureNeeds, tables: Seq[TableFacts]): ServerFacts =
    ServerFacts(server(connection), slot(connection, needs.slot), publication(connection, needs.publication), tables)

  /** A name in SQL for people: quoted only where necessary. */
  def name(text: String): String =
    if (text.matches("[a-z_][a-z0-9_]*") && !Keywords(text)) text else Sql.quoted(text)

  /** Keywords of PostgreSQL 13 to 19 that need quotes as names. */
  private val Keywords =
    """all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation
      |column concurrently constraint create cross current_catalog current_date current_role current_schema current_time
      |current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze
      |from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit
      |localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references
      |returning right select session_user similar some symmetric system_user table tablesample then to trailing true union
      |unique user using variadic verbose when where window with""".stripMargin.split("\\s").toSet

  /** Where the log ends, in SQL. */
  private val End =
    "(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END - '0/0')::bigint"

  /** Where the log ends now. */
  def end(connection: Connection): Long = Sql.query(connection, s"SELECT $End")(_.getLong(1)).head

  /** Whether the server can write messages that readers of slots get. */
  def hasSignals(connection: Connection): Boolean =
    Sql
      .query(connection, "SELECT current_setting('server_version_num')::int >= 140000 AND NOT pg_is_in_recovery()")(
        _.getBoolean(1))
      .head

  def server(connection: Connection): Server =
    Sql
      .query(
        connection,
        raw"""SELECT current_setting('server_version_num')::int AS version, s.system_identifier::text AS system,
             |  CASE WHEN pg_is_in_recovery() THEN c.timeline_id
             |    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END AS timeline,
             |  $End AS log_end,
             |  current_database() AS database, current_user AS role, current_setting('wal_level') AS level,
             |  COALESCE(current_setting('effective_wal_level', true), current_setting('wal_level')) AS effective_level,
             |  pg_is_in_recovery() AS standby,
             |  (SELECT r.rolreplication OR r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
             |    OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = 'rds_replication' AND pg_has_role(r.oid, 'USAGE')) AS replicates,
             |  has_database_privilege(current_database(), 'CREATE') AS creates,
             |  (SELECT count(*) FROM pg_replication_slots) AS slots, current_setting('max_replication_slots')::bigint AS all_slots,
             |  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender') AS senders,
             |  current_setting('max_wal_senders')::bigint AS all_senders,
             |  NULLIF(current_setting('max_slot_wal_keep_size'), '-1') AS kept,
             |  ARRAY(SELECT slot_name::text FROM pg_replication_slots WHERE slot_type = 'physical' AND active AND NOT
             |    slot_name = ANY (regexp_split_to_array(current_setting('synchronized_standby_slots', true), '\s*,\s*')) ORDER BY 1) AS standbys,
             |  pg_has_role('pg_read_all_stats', 'USAGE') AS sees_standbys
             |FROM pg_control_system() s CROSS JOIN pg_control_checkpoint() c""".stripMargin
      ) { rows =>
        Server(
          rows.getInt("version"),
          rows.getString("system"),
          rows.getLong("timeline"),
          rows.getLong("log_end"),
          rows.getString("database"),
          rows.getString("role"),
          rows.getString("level"),
          rows.getString("effective_level"),
          rows.getBoolean("standby"),
          rows.getBoolean("replicates"),
          rows.getBoolean("creates"),
          (rows.getLong("slots"), rows.getLong("all_slots")),
          (rows.getLong("senders"), rows.getLong("all_senders")),
          Option(rows.getString("kept")),
          Sql.strings(rows, "standbys"),
          rows.getBoolean("sees_standbys")
        )
      }
      .head

  def slot(connection: Connection, name: String): Option[SlotFacts] =
    // Columns that not all versions have are read as JSON. A commit takes its time before it is in the log.
    sql"""SELECT s.slot_name, s.plugin, s.database, (s.confirmed_flush_lsn - '0/0')::bigint AS confirmed,
         |  s.wal_status, s.active_pid, s.safe_wal_size,
         |  extract(epoch FROM clock_timestamp() - a.backend_start)::bigint AS age,
         |  (e.lsn - s.restart_lsn)::bigint AS retained, (e.lsn - '0/0')::bigint AS log_end,
         |  (extract(epoch FROM e.logged) * 1000000)::bigint AS logged,
         |  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now,
         |  (to_jsonb(s)->>'two_phase')::boolean AS two_phase, (to_jsonb(s)->>'failover')::boolean AS failover,
         |  (to_jsonb(s)->>'synced')::boolean AS synced,
         |  to_jsonb(s)->>'invalidation_reason' AS invalidation
         |FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid CROSS JOIN (SELECT
         |  CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp()
         |    ELSE clock_timestamp() - interval '1 second' END AS logged,
         |  CASE WHEN pg_is_in_recovery() THEN GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())
         |    ELSE pg_current_wal_lsn() END AS lsn) e
         |WHERE s.slot_name = $name"""
      .query(connection) { rows =>
        SlotFacts(
          rows.getString("slot_name"),
          Option(rows.getString("plugin")).getOrElse(""),
          Option(rows.getString("database")).getOrElse(""),
          Sql.long(rows, "confirmed"),
          Option(rows.getString("wal_status")).getOrElse("lost"),
          Sql.long(rows, "active_pid").map(pid => SlotUser(pid.toInt, Sql.long(rows, "age"))),
          Sql.long(rows, "retained"),
          Sql.long(rows, "safe_wal_size"),
          rows.getBoolean("two_phase"),
          rows.getBoolean("failover"),
          rows.getBoolean("synced"),
          Option(rows.getString("invalidation")),
          Sql.long(rows, "log_end"),
          Sql.long(rows, "logged"),
          rows.getLong("now")
        )
      }
      .headOption

  def publication(connection: Connection, name: String): Option[PublicationFacts] =
    sql"""SELECT p.pubname, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, p.pubviaroot
         |FROM pg_publication p WHERE p.pubname = $name"""
      .query(connection) { rows =>
        val operations = PublicationFacts.Operations.filter(name => rows.getBoolean(s"pub$name"))
        PublicationFacts(name, operations.toSet, rows.getBoolean("pubviaroot"), publishedTables(connection, name))
      }
      .headOption

  private def publishedTables(connection: Connection, publication: String): Map[String, PublishedTable] = {
    val isInSchema =
      if (connection.getMetaData.getDatabaseMajorVersion < 15) Sql.raw("false")
      else sql"EXISTS (SELECT FROM pg_publication_namespace s WHERE s.pnpubid = p.oid AND s.pnnspid = n.oid)"
    // Of a publication of partitions by themselves, the view has only these.
    sql"""SELECT format('%s.%s', t.schemaname, t.tablename) AS name, to_jsonb(t)->>'rowfilter' AS filter,
         |  ARRAY(SELECT jsonb_array_elements_text(NULLIF(to_jsonb(t)->'attnames', 'null'))) AS columns, EXISTS (
         |    SELECT FROM pg_publication_rel r JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
         |    WHERE r.prpubid = p.oid AND n.nspname = t.schemaname AND c.relname = t.tablename
         |      AND to_jsonb(r)->>'prattrs' IS NOT NULL) AS listed
         |FROM pg_publication p JOIN pg_publication_tables t USING (pubname) WHERE p.pubname = $publication
         |UNION ALL SELECT format('%s.%s', n.nspname, c.relname), NULL, '{}', false
         |FROM pg_publication p CROSS JOIN pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         |WHERE p.pubname = $publication AND NOT p.pubviaroot AND c.relkind = 'p' AND (
         |  p.puballtables OR $isInSchema OR
         |  EXISTS (SELECT FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = c.oid))"""
      .query(connection) { rows =>
        val columns = Sql.strings(rows, "columns")
        rows.getString("name") -> PublishedTable(columns, Option(rows.getString("filter")), rows.getBoolean("listed"))
      }
      .toMap
  }

  /** @param condition
    *   on the table `c` and its schema `n`
    */
  def tables(connection: Connection, condition: Sql): Seq[TableFacts] =
    sql"""SELECT c.oid::bigint AS oid, n.nspname, c.relname, c.relkind::text AS kind, c.relreplident::text AS identity,
         |  c.relpersistence = 'p' AS logged,
         |  has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS readable,
         |  pg_has_role(c.relowner, 'USAGE') AS owned,
         |  ${keyOf(Sql.raw("i.indisprimary"))} AS key, ${keyOf(Sql.raw("i.indisreplident"))} AS identity_key,
         |  ARRAY(SELECT a.attname::text FROM pg_attribute a
         |    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum) AS columns,
         |  ARRAY(SELECT a.attname::text FROM pg_attribute a
         |    WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attnotnull AND NOT a.attisdropped AND NOT EXISTS (
         |      SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'n' AND NOT k.convalidated
         |        AND a.attnum = ANY (k.conkey))) AS not_null,
         |  ARRAY(SELECT quote_ident(s.nspname) FROM pg_index i
         |    CROSS JOIN LATERAL unnest(i.indclass::oid[]) WITH ORDINALITY AS k(class, place)
         |    JOIN pg_opclass o ON o.oid = k.class
         |    JOIN pg_am m ON m.oid = o.opcmethod AND m.amname = 'btree'
         |    JOIN pg_amop p ON p.amopfamily = o.opcfamily AND p.amoplefttype = o.opcintype AND p.amoprighttype = o.opcintype
         |      AND p.amopstrategy = 1
         |    JOIN pg_operator r ON r.oid = p.amopopr JOIN pg_namespace s ON s.oid = r.oprnamespace
         |    WHERE i.indrelid = c.oid AND i.indisprimary ORDER BY k.place) AS operators,
         |  row_security_active(c.oid) AS filtered,
         |  ARRAY(SELECT format('%s.%s', m.nspname, d.relname) FROM pg_inherits i
         |    JOIN pg_class d ON d.oid = i.inhrelid JOIN pg_namespace m ON m.oid = d.relnamespace
         |    WHERE i.inhparent = c.oid AND c.relkind = 'r' ORDER BY 1) AS children,
         |  (SELECT concat(s.system_identifier, '/', c.timeline_id, '/', current_database())
         |    FROM pg_control_system() s CROSS JOIN pg_control_checkpoint() c) AS database
         |FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         |WHERE $condition ORDER BY n.nspname, c.relname""".query(connection) { rows =>
      TableFacts(
        rows.getLong("oid"),
        rows.getString("nspname"),
        rows.getString("relname"),
        rows.getString("kind"),
        rows.getString("identity"),
        rows.getBoolean("logged"),
        rows.getBoolean("readable"),
        rows.getBoolean("owned"),
        Sql.strings(rows, "key"),
        Sql.strings(rows, "identity_key"),
        Sql.strings(rows, "columns"),
        Sql.strings(rows, "not_null").toSet,
        Sql.strings(rows, "operators"),
        rows.getBoolean("filtered"),
        Sql.strings(rows, "children"),
        rows.getString("database")
      )
    }

  /** The columns of the table's index that satisfies a condition. */
  private def keyOf(condition: Sql): Sql =
    sql"""ARRAY(SELECT a.attname::text FROM pg_index i
         |  CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
         |  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
         |  WHERE i.indrelid = c.oid AND $condition AND i.indisvalid AND k.place <= i.indnkeyatts ORDER BY k.place)"""
}
