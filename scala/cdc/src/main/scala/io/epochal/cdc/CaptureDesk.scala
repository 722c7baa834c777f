package io.epochal.cdc

import java.util

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import io.epochal.cdc.slot.{DdlTrigger, Severity}

/** The preflight's API for other languages. */
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
}
