package io.epochal.cdc

import java.util

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import io.epochal.cdc.slot.{DdlTrigger, Severity, Signal}

/** The API of the preflight, and of requests to running queries, for other languages. */
object CaptureDesk {
  private val mapper = new ObjectMapper

  /** Checks whether the server allows a query with these options of `epochal-cdc` to start with a new checkpoint. Changes
    * nothing.
    *
    * @return
    *   `{"url":…,"table":…,"points":[{"name":…,"found":…,"state":…,"sql":…}]}`. The state is `ok`, `warning` or `missing`;
    *   `sql` mends the point, and is empty if there is nothing to mend
    * @throws io.epochal.core.error.EpochalException
    *   TABLE_MISSING, or because the server cannot be reached
    */
  def check(options: util.Map[String, String]): String = {
    val read = CdcOptions.read(options.asScala.toMap).fold(throw _, identity)
    val server = read.server
    val tables = CdcTables.find(read)
    val root = mapper.createObjectNode().put("url", server.place).put("table", read.tables.toString)
    val points = root.putArray("points")
    server
      .sql { connection =>
        new ServerCheck(read, server, tables).points(connection, ofFirstStart = true) :+ DdlTrigger.point(connection)
      }
      .foreach { point =>
        val state = point.severity match {
          case Severity.Fine    => "ok"
          case Severity.Warning => "warning"
          case Severity.Missing => "missing"
        }
        points
          .addObject()
          .put("name", point.name)
          .put("found", point.finding)
          .put("state", state)
          .put("sql", point.mend.getOrElse("")): Unit
      }
    mapper.writeValueAsString(root)
  }

  /** Asks all queries that capture tables to compare them with their replicas. The same as [[reload]] otherwise. */
  def verify(options: util.Map[String, String]): String = request(options, Signal.Verify)

  /** Asks all queries that capture tables to reload them, by messages in the server's log.
    *
    * @param options
    *   of `epochal-cdc`: the server and the tables
    * @return
    *   `{"url":…,"tables":[…],"slots":[…]}`: the tables' names, and the slots of the database, whose queries read the messages
    * @throws io.epochal.core.error.EpochalException
    *   TABLE_MISSING; CAPTURE_NOT_READY, because the server has no messages or no slots; or because it cannot be reached
    */
  def reload(options: util.Map[String, String]): String = request(options, Signal.Reload)

  private def request(options: util.Map[String, String], kind: String): String = {
    val read = CdcOptions.read(options.asScala.toMap).fold(throw _, identity)
    val server = read.server
    val tables = CdcTables.find(read)
    val slots = server.sql { connection =>
      val slots = new ServerCheck(read, server, tables).slotsForSignals(connection)
      tables.all.foreach(table => Signal.sql(s"$kind${table.facts.name}").query(connection)(_.getString(1)))
      slots
    }
    val root = mapper.createObjectNode().put("url", server.place)
    tables.all.foldLeft(root.putArray("tables"))((array, table) => array.add(table.facts.name)): Unit
    slots.foldLeft(root.putArray("slots"))((array, slot) => array.add(slot)): Unit
    mapper.writeValueAsString(root)
  }
}
