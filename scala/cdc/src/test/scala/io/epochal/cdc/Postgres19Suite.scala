package io.epochal.cdc

import java.io.{InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket}
import java.nio.charset.StandardCharsets.ISO_8859_1

import scala.util.{Try, Using}

import io.epochal.core.error.Conditions
import io.epochal.core.thread.DaemonThreads

/** Captures from a server that reports what PostgreSQL 19 does with wal_level=replica. */
final class Postgres19Suite extends CdcQueries {

  test("PostgreSQL 19 with wal_level=replica is captured, and an earlier release is refused") {
    Using.resource(new Shop) { shop =>
      shop.run("INSERT INTO orders VALUES (1, 'a')")
      val version = shop.text("SHOW server_version_num")
      def reporting(major: String)(body: String => Any): Unit =
        Using.resource(
          new Reporting(port(shop.url), Seq(version -> s"$major${version.drop(2)}", "logical" -> "replica"))) { proxy =>
          val _ = body(shop.url.replace(s":${port(shop.url)}/", s":${proxy.port}/"))
        }
      reporting("17") { url =>
        val error = refused(Conditions.CaptureNotReady)(shop.read("url" -> url))
        assert(error.values("points") == "wal_level: replica")
      }
      reporting("19") { url =>
        withTempDir { dir =>
          stopped(start(shop.read("url" -> url), "cdc_19", dir.toString)) {
            val query = spark.streams.active.head
            until(query)(assert(changes("cdc_19") == Seq(("insert", 1, "a"))))
            shop.run("UPDATE orders SET note = 'b'")
            until(query)(assert(changes("cdc_19").drop(1) == Seq(("update_postimage", 1, "b"))))
          }
        }
      }
    }
  }

  private def port(url: String): Int = ":(\\d+)/".r.findFirstMatchIn(url).get.group(1).toInt

  /** A proxy before a server, which replaces texts of its fields by others of the same length. */
  final private class Reporting(server: Int, texts: Seq[(String, String)]) extends AutoCloseable {
    private val listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)
    def port: Int = listener.getLocalPort

    background(Iterator.continually(Try(listener.accept())).takeWhile(_.isSuccess).foreach { client =>
      val upstream = new Socket(InetAddress.getLoopbackAddress, server)
      background(pump(client.get.getInputStream, upstream.getOutputStream)(identity))
      background(pump(upstream.getInputStream, client.get.getOutputStream)(replaced))
    })

    private def replaced(part: String): String = texts.foldLeft(part) { case (text, (before, after)) =>
      val length = s"\u0000\u0000\u0000${before.length.toChar}"
      text.replace(length + before, length + after)
    }

    private def pump(in: InputStream, out: OutputStream)(replace: String => String): Unit = {
      val buffer = new Array[Byte](1 << 16)
      Try {
        Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach { length =>
          out.write(replace(new String(buffer, 0, length, ISO_8859_1)).getBytes(ISO_8859_1))
        }
      }: Unit
      Try(out.close()): Unit
    }

    private def background(body: => Any): Unit =
      new DaemonThreads("epochal-test-proxy")
        .newThread { () =>
          val _ = body
        }
        .start()

    override def close(): Unit = listener.close()
  }
}
