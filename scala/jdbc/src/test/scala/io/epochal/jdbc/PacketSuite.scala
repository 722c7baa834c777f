package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

@Slow
final class MariadbPacketSuite extends Packets(Mariadb)
@Slow
final class Mysql8PacketSuite extends Packets(Mysql8)

/** A server that accepts statements of `max_allowed_packet` bytes, here 16 MiB. */
abstract class Packets(databases: TestDatabases) extends SinkSuite(databases) {

  private val large = "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, word LONGTEXT)"

  private def row(id: Int, length: Int): InternalRow = InternalRow(id.toLong, fromString("'" * length))

  Seq("append" -> Map.empty[String, String], "upsert" -> Map("keyColumns" -> "id")).foreach { case (mode, more) =>
    on(s"$mode: large rows behind many small ones are sent in statements that the server accepts", large) { f =>
      val run = f.newRun(query, Map("sinkId" -> "sink") ++ more)
      write(f, run, 0, (0 until 20000).map(row(_, 3)) ++ (20000 until 20040).map(row(_, 500000)))
      assert(f.database.one("SELECT count(*) FROM t") == 20040L)
      assert(f.database.one("SELECT count(*) FROM t WHERE LENGTH(word) = 500000").toString == "40")
    }
  }

  on("a row larger than a statement may be fails with its own error, at once", large) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink"))
    val error = refused(Conditions.RowTooLarge)(write(f, run, 0, Seq(row(1, 3), row(2, 17 << 20))))
    assert(error.getMessage.contains("max_allowed_packet"))
    assert(run.metrics("retries") == "0")
    holds(f, 0 until 0)
  }
}
