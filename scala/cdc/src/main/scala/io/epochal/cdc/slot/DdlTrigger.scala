package io.epochal.cdc.slot

import java.sql.Connection

import io.epochal.cdc.pgoutput.Message.Emitted
import io.epochal.kit.database.SqlText._

/** An event trigger that puts DDL statements into the log, so that changes that pgoutput does not show have their place in it: a
  * message with the tag of the statement, and the OIDs of its objects.
  */
private[cdc] object DdlTrigger {

  /** In the message of a table that becomes unlogged, or logged. */
  final val Persistence = "PERSISTENCE"

  def exists(connection: Connection): Boolean =
    sql"""SELECT count(*) = 3 FROM pg_event_trigger t JOIN pg_proc p ON p.oid = t.evtfoid
         |WHERE p.proname = 'epochal_ddl' AND t.evtenabled <> 'D'""".query(connection)(_.getBoolean(1)).head

  /** The preflight's point that suggests it. */
  def point(connection: Connection): Point = {
    val isThere = exists(connection)
    Point(
      "event trigger",
      if (isThere) "puts DDL into the log"
      else "none: a change that the log does not show is noticed after heartbeatInterval",
      Severity.Fine,
      // Older servers send no messages.
      Option.when(!isThere && connection.getMetaData.getDatabaseMajorVersion >= 14)(Create))
  }

  /** SQL that creates it; for a superuser, or the provider's role for event triggers. */
  val Create: String =
    s"""DROP EVENT TRIGGER IF EXISTS epochal_ddl, epochal_ddl_drop, epochal_ddl_rewrite;
       |DROP FUNCTION IF EXISTS public.epochal_ddl();
       |CREATE FUNCTION public.epochal_ddl() RETURNS event_trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$$$
       |DECLARE objects text;
       |BEGIN
       |  IF TG_EVENT = 'sql_drop' THEN
       |    SELECT string_agg(DISTINCT objid::text, ',') INTO objects FROM pg_event_trigger_dropped_objects() WHERE NOT is_temporary;
       |  ELSIF TG_EVENT = 'table_rewrite' THEN
       |    objects := pg_event_trigger_table_rewrite_oid() || CASE WHEN pg_event_trigger_table_rewrite_reason() & 1 = 1 THEN ' $Persistence' ELSE '' END;
       |  ELSE
       |    SELECT string_agg(DISTINCT objid::text, ',') INTO objects FROM pg_event_trigger_ddl_commands() WHERE schema_name IS DISTINCT FROM 'pg_temp';
       |  END IF;
       |  IF objects IS NOT NULL THEN PERFORM pg_logical_emit_message(true, '${Emitted.Ddl}', TG_TAG || ' ' || objects); END IF;
       |END $$$$;
       |CREATE EVENT TRIGGER epochal_ddl ON ddl_command_end WHEN TAG IN ('ALTER TABLE', 'ALTER TYPE', 'ALTER PUBLICATION') EXECUTE FUNCTION public.epochal_ddl();
       |CREATE EVENT TRIGGER epochal_ddl_drop ON sql_drop EXECUTE FUNCTION public.epochal_ddl();
       |CREATE EVENT TRIGGER epochal_ddl_rewrite ON table_rewrite EXECUTE FUNCTION public.epochal_ddl();""".stripMargin
}
