package io.epochal.cdc

import java.io.File
import java.nio.file.Files
import java.sql.{Connection, DriverManager}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.core.failpoint.Failpoints
import io.epochal.jdbc.{PostgresServer, TestServer}
import io.epochal.support.{Collected, CollectedQueries}

/** Queries over the changes of tables, on a real server. */
trait CdcQueries extends CollectedQueries {
  protected lazy val server: String = PostgresServer.url.fold(TestServer.missing("postgres"), identity)

  /** A database of its own, with `orders (id int PRIMARY KEY, note text)`. */
  final protected class Shop(server: String = server) extends AutoCloseable {
    val name = s"cdc_${ProcessHandle.current.pid}_${CdcQueries.names.incrementAndGet()}"
    Using.resource(DriverManager.getConnection(server))(execute(_, s"CREATE DATABASE $name"))
    val url: String = server.replaceFirst("/[^/?]*(?=\\?|$)", s"/$name")
    run("CREATE TABLE orders (id int PRIMARY KEY, note text)")

    def run(sql: String*): Unit = Using.resource(DriverManager.getConnection(url))(execute(_, sql: _*))

    /** In one transaction. */
    def transaction(sql: String*): Unit = Using.resource(DriverManager.getConnection(url)) { connection =>
      connection.setAutoCommit(false)
      execute(connection, sql: _*)
      connection.commit()
    }

    def text(query: String): String = Using.resource(DriverManager.getConnection(url)) { connection =>
      Using.resource(connection.createStatement()) { statement =>
        val rows = statement.executeQuery(query)
        rows.next()
        rows.getString(1)
      }
    }

    def read(options: (String, String)*): DataFrame = spark.readStream
      .format("epochal-cdc")
      .options(Map("url" -> url, "dbtable" -> "orders", "slot" -> name, "numPartitions" -> "1") ++ options)
      .load()

    private def execute(connection: Connection, sql: String*): Unit =
      Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))

    override def close(): Unit = Using.resource(DriverManager.getConnection(server)) { connection =>
      execute(
        connection,
        s"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '$name' AND active",
        s"DO $$$$ BEGIN FOR i IN 1..1000 LOOP IF EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '$name' AND active) THEN PERFORM pg_sleep(0.05); END IF; END LOOP; END $$$$",
        s"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '$name'",
        s"DROP DATABASE $name WITH (FORCE)"
      )
    }
  }

  /** Type, id and note of each change that a query has delivered. */
  final protected def changes(name: String): Seq[(String, Any, Any)] =
    Collected.of(name).map(row => (row.getAs[String]("_change_type"), row.get(0), row.get(1)))

  final protected def commits(checkpoint: File): Seq[File] =
    Option(new File(checkpoint, "commits").listFiles).toSeq.flatten.filter(_.getName.matches("\\d+"))

  /** Runs until all that was committed before is delivered, and until each reload that was requested before has ended. */
  final protected def availableNow(shop: Shop, name: String, checkpoint: File, options: (String, String)*): Unit =
    start(shop.read(options: _*), name, checkpoint.toString, Trigger.AvailableNow()).awaitTermination()

  /** The files of reloads in a checkpoint. */
  final protected def reloadFiles(checkpoint: File): Seq[String] =
    Option(new File(checkpoint, "sources/0/cdc/reload").list).toSeq.flatten

  /** The transaction of each change that a query has delivered. */
  final protected def commitsOf(name: String): Seq[String] =
    Collected.of(name).map(_.getAs[String]("_commit_version").takeWhile(_ != '/'))

  /** Runs a body in which a copy waits, once it has its rows, until the file is deleted.
    *
    * @param copy
    *   its number
    * @param more
    *   failures of other steps
    */
  final protected def holding(copy: Int, more: String = "")(body: File => Unit): Unit = {
    val held = File.createTempFile("reload", ".hold")
    Failpoints.arm(s"reload.copied=hold:$held@$copy$more")
    try body(held)
    finally {
      Files.deleteIfExists(held.toPath)
      Failpoints.disarm()
    }
  }

  /** Requests a reload, and runs the body after its rows were copied, and before they are delivered. */
  final protected def whileCopied(query: StreamingQuery, shop: Shop, request: String)(body: => Unit): Unit =
    holding(copy = 1) { held =>
      shop.run(request)
      until(query)(assert(Files.size(held.toPath) > 0))
      body
    }

  /** Our error of a condition that ends the body. */
  final protected def refused(condition: Condition)(body: => Any): EpochalException = {
    val error = intercept[Throwable] { body; () }
    val ours = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).collectFirst { case e: EpochalException => e }
    assert(ours.exists(_.condition == condition), error)
    ours.get
  }
}

private object CdcQueries {

  /** Databases of all suites of this JVM. */
  val names = new AtomicInteger
}
