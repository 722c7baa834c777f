package io.epochal.ingest

import java.net.{InetAddress, ServerSocket}
import java.util.concurrent.CountDownLatch

import scala.util.Using

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.time.{Minutes, Span}

import io.epochal.ingest.tcp.TcpClient
import io.epochal.support.Ports

/** Stops the application that all suites share; the next suite starts another one. */
final class IngestApplicationEndSuite extends QuerySuite {

  test("when the application ends, the port is free, even if its query hangs") {
    withTempDir { dir =>
      val (port, hangs, ends) = (Ports.free(), new CountDownLatch(1), new CountDownLatch(1))
      spark.readStream
        .format("epochal-ingest")
        .option("port", port.toLong)
        .option("ack", "true")
        .load()
        .writeStream
        .option("checkpointLocation", dir.toString)
        .foreachBatch { (_: DataFrame, _: Long) =>
          hangs.countDown()
          ends.await()
        }
        .start(): Unit
      try {
        eventually(timeout(Span(5, Minutes))) {
          Using.resource(new TcpClient(port)) { client =>
            client.send("a\n")
            client.await(1)
          }
        }
        hangs.await()
        spark.sparkContext.stop()
        Using.resource(new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1")))(_ => ())
      } finally {
        ends.countDown()
        // Else the end of the suite would stop it, which fails without its application.
        eventually(timeout(Span(1, Minutes)))(assert(spark.streams.active.isEmpty))
      }
    }
  }
}
