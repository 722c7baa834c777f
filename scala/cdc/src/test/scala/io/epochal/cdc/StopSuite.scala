package io.epochal.cdc

import java.net.{InetAddress, ServerSocket}
import java.sql.{Connection, DriverManager}
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.postgresql.PGConnection
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Minutes, Span}

/** Queries that are stopped while they wait for the server. */
final class StopSuite extends CdcQueries {

  private def stop(query: StreamingQuery): Unit = {
    val begun = System.nanoTime()
    query.stop()
    assert(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun) < 15)
    assert(query.exception.isEmpty)
  }

  /** A session with an open transaction. */
  private def within(shop: Shop, sql: String)(body: Connection => Any): Unit =
    Using.resource(DriverManager.getConnection(shop.url)) { open =>
      open.setAutoCommit(false)
      open.createStatement().execute(sql)
      body(open): Unit
      open.rollback()
    }

  private def createSlot(shop: Shop): Unit = shop.run(
    s"CREATE PUBLICATION ${shop.name} FOR TABLE orders",
    s"SELECT pg_create_logical_replication_slot('${shop.name}', 'pgoutput')")

  test("a stop while a slot waits for a transaction, which is named, leaves no slot, and the next start creates it") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        within(shop, "INSERT INTO orders VALUES (1, 'open')") { open =>
          val process = open.unwrap(classOf[PGConnection]).getBackendPID
          val query = start(shop.read(), "cdc_waiting", dir.toString)
          until(query)(assert(query.status.message.matches(s".*process $process [(]\\d+ s[)].*")))
          stop(query)
          eventually(timeout(Span(1, Minutes))) {
            assert(shop.text(s"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '${shop.name}'") == "0")
          }
          open.commit()
        }
        stopped(start(shop.read(), "cdc_waited", dir.toString)) {
          until(spark.streams.active.head)(assert(changes("cdc_waited") == Seq(("insert", 1, "open"))))
        }
      }
    }
  }

  test("a stop whose interrupt was cleared ends the wait for a slot") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        within(shop, "INSERT INTO orders VALUES (1, 'open')") { _ =>
          val query = start(shop.read(), "cdc_cleared", dir.toString)
          until(query)(assert(query.status.message.contains("waits for the end of transactions")))
          val execution = call(query, "streamingQuery")
          val state = call(execution, "state").asInstanceOf[AtomicReference[AnyRef]]
          val terminated = Class.forName(state.get.getClass.getName.replace("ACTIVE", "TERMINATED"))
          state.set(terminated.getField("MODULE$").get(null))
          call(execution, "queryExecutionThread").asInstanceOf[Thread].join(60000)
          assert(!call(execution, "queryExecutionThread").asInstanceOf[Thread].isAlive)
          assert(query.exception.isEmpty)
        }
      }
    }
  }

  private def call(on: AnyRef, method: String): AnyRef = on.getClass.getMethod(method).invoke(on)

  test("a stop while a snapshot waits for a lock ends its statement", Slow) {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        createSlot(shop)
        val rows = shop.read()
        within(shop, "LOCK TABLE orders") { _ =>
          val query = start(rows, "cdc_locked", dir.toString)
          def locked = shop.text(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
          until(query)(assert(locked != "0"))
          stop(query)
          eventually(timeout(Span(1, Minutes)))(assert(locked == "0"))
        }
      }
    }
  }

  test("a stop while another process reads the slot, of a run that waits for the end of the log") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        createSlot(shop)
        val options =
          CdcOptions.read(Map("url" -> shop.url, "dbtable" -> "orders", "slot" -> shop.name)).fold(throw _, identity)
        Using.resource(options.server.stream(shop.name, shop.name, 0, binary = false, messages = false)) { _ =>
          val query = start(shop.read(), "cdc_in_use", dir.toString, Trigger.AvailableNow())
          def isWaiting = Thread.getAllStackTraces.asScala.exists { case (thread, stack) =>
            thread.getName == "epochal-cdc" && stack.exists(_.getMethodName.contains("attempt")) &&
            stack.exists(_.getMethodName.startsWith("sleep"))
          }
          until(query)(assert(isWaiting))
          stop(query)
          assert(!isWaiting)
        }
      }
    }
  }

  test("a stop does not wait for a server process that does not answer", Slow) {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        val query = start(shop.read(), "cdc_frozen", dir.toString)
        shop.run("INSERT INTO orders VALUES (1, 'a')")
        until(query)(assert(changes("cdc_frozen").size == 1))
        val process = shop.text(s"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '${shop.name}'")
        def send(signal: String) = new ProcessBuilder("kill", s"-$signal", process).start().waitFor()
        assume(ProcessHandle.of(process.toLong).isPresent && send("STOP") == 0, "a server on this machine")
        try stop(query)
        finally send("CONT"): Unit
      }
    }
  }

  test("an interrupt ends a login that is not answered") {
    Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress)) { silent =>
      val url = s"jdbc:postgresql://127.0.0.1:${silent.getLocalPort}/none"
      val options = CdcOptions.read(Map("url" -> url, "dbtable" -> "orders")).fold(throw _, identity)
      val thread = new Thread(() => Try(options.server.sql(_ => ())): Unit)
      thread.start()
      silent.accept()
      thread.interrupt()
      thread.join(15000)
      assert(!thread.isAlive)
    }
  }
}
