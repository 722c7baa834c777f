package io.epochal.jdbc

import java.sql.{Connection, ResultSet, SQLException, Types}
import java.time.{LocalDateTime, OffsetDateTime, ZoneOffset}
import java.util
import java.util.{Locale, UUID}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{AppliedEpoch, ContentDigest, TriggerMode}
import io.epochal.jdbc.commit.LedgerTable
import io.epochal.jdbc.database.Database
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.{QualifiedName, Sql}

/** The ledger's API for other languages: reads and repairs it. Times are ISO 8601 in UTC.
  *
  * Options are those of `epochal-jdbc`, where `dbtable` is the ledger: `epochal_ledger`, or `schema.epochal_ledger`. It is
  * resolved as a sink resolves its target.
  */
object LedgerDesk {
  private val mapper = new ObjectMapper()

  /** History entries returned for each sink. */
  private val Lines = 10

  /** @return
    *   `{"place":…,"sinks":[{"row":{…},"retired":[{…}],"history":[{…}],"replicas":[{…}]}]}`, with the columns that
    *   `docs/PROTOCOL.md` lists, and `rows_beyond`, the number of rows stored beyond the last epoch, if the query's tasks store
    *   rows before their epoch ends
    * @throws io.epochal.core.error.EpochalException
    *   LEDGER_NOT_FOUND
    */
  def read(options: util.Map[String, String]): String = {
    val root = mapper.createObjectNode()
    inLedger(options, "reading the ledger") { (connection, database, _, ledger) =>
      root.put("place", database.place)
      val sinks = root.putArray("sinks")
      ledger.sinks(connection).foreach { id =>
        val sink = sinks.addObject()
        val (row, predecessors) = ledger.describe(connection, id)(json)
        row.foreach { values =>
          sink.set[JsonNode]("row", values)
          val progress = ledger.progress(connection, id)
          if (progress.exists)
            progress.read(values.get("query_id").asText).beyond.foreach(values.put("rows_beyond", _))
        }
        sink.putArray("retired").addAll(predecessors.asJava)
        sink.putArray("history").addAll(ledger.latest(connection, id, Lines)(json).asJava)
        sink.putArray("replicas").addAll(ledger.verifications(id).list(connection)(json).asJava)
      }
    }
    mapper.writeValueAsString(root)
  }

  /** Repairs a sink's row in one transaction, under the sink's own rules of trust.
    *
    * @param expectedRow
    *   the row that the user saw: `[query_id, generation, run_id, last_epoch, offsets_hash]`. If it has changed since, the
    *   repair is refused
    * @param newLast
    *   `[epoch, offsets_hash]`: the new last epoch; null forgets the sink
    * @throws io.epochal.core.error.EpochalException
    *   SINK_NOT_FOUND, REPAIR_REFUSED
    */
  def change(options: util.Map[String, String], sinkId: String, expectedRow: String, newLast: String): Unit =
    inLedger(options, "the repair of the ledger") { (connection, database, name, namedLedger) =>
      val target = namedLedger
        .row(connection, sinkId)
        .getOrElse(
          throw Conditions.SinkNotFound(
            "url" -> database.place,
            "sinkId" -> sinkId,
            "known" -> namedLedger.sinks(connection).mkString("It has ", ", ", ".")))
        .target
      val beside = QualifiedName(name.schema, target.name.stripPrefix(s"${name.schema}."))
      val ledger = LedgerTable.of(database, beside)
      ledger.isComplete(connection): Unit
      // Rows of continuous and real-time queries.
      lazy val progress = Some(ledger.progress(connection, sinkId)).filter(_.exists)
      val row = ledger.lock(connection, sinkId).get
      val currentRow = mapper.createArrayNode().add(row.queryId).add(row.generation).add(row.runId)
      currentRow.add(row.last.map(last => Long.box(last.epoch)).orNull)
      currentRow.add(row.last.flatMap(_.offsetsHash).orNull)
      val before = mapper.writeValueAsString(mapper.readTree(expectedRow))
      val now = mapper.writeValueAsString(currentRow)
      if (before != now) throw Conditions.RepairRefused("sinkId" -> sinkId, "shown" -> before, "found" -> now)
      Option(newLast).map(mapper.readTree) match {
        case None =>
          ledger.forget(connection, sinkId)
          progress.foreach(_.forget())
        case Some(epoch) =>
          if (progress.exists(_.knows)) throw Conditions.RepairUnsupported("sinkId" -> sinkId)
          val hash = Option(epoch.get(1)).filterNot(_.isNull).map(_.asText)
          val last = AppliedEpoch(epoch.get(0).asLong, TriggerMode.MicroBatch, hash, ContentDigest.empty)
          ledger.correct(connection, sinkId, UUID.randomUUID().toString, last)
      }
    }

  private def inLedger(raw: util.Map[String, String], step: String)(
      body: (Connection, Database, QualifiedName, LedgerTable) => Unit): Unit = {
    val options = JdbcOptions.read(raw.asScala.toMap).fold(throw _, identity)
    val dialect = JdbcProvider.dialect(options).fold(throw _, identity)
    dialect.check(options).fold(throw _, identity)
    val database = new Database(dialect, options, () => ())
    if (database.isNew) throw notFound(database)
    Using.resource(database.hold()) { _ =>
      database.attempt(step) { transaction =>
        val name = dialect.catalog.find(transaction.connection, options.table).getOrElse(throw notFound(database)).name
        val ledger = LedgerTable.of(database, name)
        if (!ledger.isComplete(transaction.connection)) throw notFound(database)
        body(transaction.connection, database, name, ledger)
        transaction.commit()
      }
    }
  }

  private def notFound(database: Database): EpochalException = Conditions.LedgerNotFound("url" -> database.place)

  /** A row as an object, keyed by column names in lower case. */
  private def json(rows: ResultSet): ObjectNode = {
    val node = mapper.createObjectNode()
    val columns = rows.getMetaData
    (1 to columns.getColumnCount).foreach { i =>
      val name = columns.getColumnLabel(i).toLowerCase(Locale.ROOT)
      columns.getColumnType(i) match {
        case Types.BIGINT | Types.INTEGER | Types.NUMERIC | Types.DECIMAL =>
          node.put(name, Sql.long(rows, name).map(Long.box).orNull)
        case Types.TIMESTAMP | Types.TIMESTAMP_WITH_TIMEZONE => node.put(name, instant(rows, i))
        case _                                               => node.put(name, rows.getString(i))
      }
    }
    node
  }

  /** Columns without a zone are in UTC: for these a driver returns a local time, for others it refuses to. */
  private def instant(rows: ResultSet, column: Int): String = {
    val moment =
      try Option(rows.getObject(column, classOf[LocalDateTime])).map(_.atOffset(ZoneOffset.UTC))
      catch { case _: SQLException => Option(rows.getObject(column, classOf[OffsetDateTime])) }
    moment.map(_.toInstant.toString).orNull
  }
}
