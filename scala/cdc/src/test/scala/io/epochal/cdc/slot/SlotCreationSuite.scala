package io.epochal.cdc.slot

import java.sql.DriverManager

import scala.util.Using

import org.scalatest.tagobjects.Slow

import io.epochal.cdc.CdcQueries
import io.epochal.support.NetworkProxy

final class SlotCreationSuite extends CdcQueries {

  test("a creation whose process is gone from the server, unnoticed by its connection, is repeated", Slow) {
    Using.Manager { use =>
      val shop = use(new Shop)
      val proxy = use(new NetworkProxy(":(\\d+)/".r.findFirstMatchIn(shop.url).get.group(1).toInt))
      shop.run("INSERT INTO orders VALUES (1, 'a')")
      val writer = use(DriverManager.getConnection(shop.url))
      writer.setAutoCommit(false)
      writer.createStatement().execute("INSERT INTO orders VALUES (2, 'b')")
      withTempDir { dir =>
        stopped(start(shop.read("url" -> proxy.url(shop.url)), "cdc_creation", dir.toString)) {
          val query = spark.streams.active.head
          def process = shop.text(
            s"SELECT max(active_pid) FROM pg_replication_slots WHERE slot_name = '${shop.name}' AND confirmed_flush_lsn IS NULL")
          until(query)(assert(process != null))
          proxy.stall()
          shop.run(s"SELECT pg_terminate_backend($process)")
          until(query)(assert(process == null))
          writer.commit()
          until(query)(assert(changes("cdc_creation").map(_._2.toString).sorted == Seq("1", "2")))
        }
      }
    }.get
  }
}
