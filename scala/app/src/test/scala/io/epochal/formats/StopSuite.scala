package io.epochal.formats

import java.io.{File, IOException}
import java.net.{InetAddress, ServerSocket, Socket}
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.concurrent.TimeUnit.MILLISECONDS

import scala.util.{Random, Using}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.tags.Slow

import io.epochal.jdbc.{Mariadb, MariadbServer, Postgres, PostgresServer, Sqlite, TestDatabase}
import io.epochal.rest.sink.{OrdersApi, RestSinkFixture}
import io.epochal.rest.source.{ChainApi, RecordsApi}

/** `stop()` at random moments, from a seed that is printed. EPOCHAL_STOPS sets the number of stops; EPOCHAL_STOP_SEED repeats a
  * run.
  */
@Slow
final class StopSuite extends QuerySuite {
  import StopSuite._

  private val records = new RecordsApi
  private val chain = new ChainApi
  private val orders = new OrdersApi(honours = true)
  private val lines = new LinesServer
  private lazy val databases: Seq[TestDatabase] =
    Seq(Sqlite.newDatabase()) ++
      PostgresServer.url.toOption.map(_ => Postgres.newDatabase()) ++
      MariadbServer.url.toOption.map(_ => Mariadb.newDatabase())

  override def beforeAll(): Unit = {
    super.beforeAll()
    // Long lists over the network, so that a stop hits a request, a wait, a file or a connection.
    Seq(records.count = 1000000, chain.count = 1000000, chain.pageSize = 20).foreach(identity)
    records.before = () => Thread.sleep(5)
    chain.before = () => {
      Thread.sleep(5)
      200
    }
  }

  override def afterAll(): Unit =
    try {
      databases.foreach(_.close())
      Seq(records, chain, orders, lines).foreach(_.close())
    } finally super.afterAll()

  private def rest(options: (String, String)*): DataFrame = spark.readStream
    .format("epochal-rest")
    .schema("id BIGINT")
    .options(Map("maxRowsPerBatch" -> "50", "numPartitions" -> "2") ++ options)
    .load()

  private def counted(more: (String, String)*): DataFrame = rest(
    Seq(
      "url" -> records.url,
      "pagination" -> "offset",
      "offsetParam" -> "_start",
      "limitParam" -> "_limit") ++ more: _*)

  private def ingest: DataFrame = spark.readStream
    .format("epochal-ingest")
    .options(Map("mode" -> "connect", "port" -> lines.port.toString, "maxRowsPerBatch" -> "50", "numPartitions" -> "2"))
    .load()
    .selectExpr("CAST(value AS BIGINT) AS id")

  private val sources: Seq[(String, () => DataFrame)] = Seq(
    "random" -> (() => spark.readStream.format("epochal-random").option("rowsPerBatch", "50").load().selectExpr("id")),
    "live" -> (() => counted()),
    "journalled" -> (() => counted("journal" -> "true")),
    "cursor" -> (() => rest(ChainApi.kinds("cursor") :+ ("url" -> chain.url): _*)),
    "ingest" -> (() => ingest)
  )

  private def into(database: TestDatabase, number: Int)(frame: DataFrame, checkpoint: File): StreamingQuery =
    start(frame, checkpoint, "epochal-jdbc", database.options(s"t$number", "createTable" -> "true"))

  private def sinks(number: Int): Seq[(String, (DataFrame, File) => StreamingQuery)] =
    databases.map(database => database.name -> (into(database, number)(_, _))) :+
      ("orders" -> (start(_, _, "epochal-rest", RestSinkFixture.options(orders) ++ Map("keyColumns" -> "id"))))

  private def start(frame: DataFrame, checkpoint: File, format: String, options: Map[String, String]): StreamingQuery =
    frame.writeStream
      .format(format)
      .options(options)
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(Trigger.ProcessingTime(0))
      .start()

  test(s"a query that is stopped at a random moment has no exception, $stops times over every source and sink") {
    info(s"EPOCHAL_STOP_SEED=$seed")
    val random = new Random(seed)
    val failed = (0 until stops).flatMap { number =>
      val (source, frame) = sources(number % sources.size)
      val targets = sinks(number)
      val (sink, write) = targets(number / sources.size % targets.size)
      val after = random.nextInt(if (random.nextBoolean()) 150 else 1200).toLong
      withTempDirResult { checkpoint =>
        val query = write(frame(), checkpoint)
        MILLISECONDS.sleep(after)
        query.stop()
        query.exception.map(error => s"stop $number, $source to $sink after $after ms: $error")
      }
    }
    assert(failed.isEmpty, failed.mkString("\n", "\n", ""))
  }

  private def withTempDirResult[A](body: File => A): A = {
    var result = Option.empty[A]
    withTempDir(directory => result = Some(body(directory)))
    result.get
  }
}

/** Server that sends numbers as lines, endlessly, to every client. */
final private class LinesServer extends AutoCloseable {
  private val server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)

  inThread(while (true) serve(server.accept()))

  def port: Int = server.getLocalPort

  override def close(): Unit = server.close()

  private def serve(client: Socket): Unit = inThread(Using.resource(client) { open =>
    Iterator.from(0).foreach { number =>
      open.getOutputStream.write(s"$number\n".getBytes(US_ASCII))
      if (number % 50 == 49) MILLISECONDS.sleep(5)
    }
  })

  /** Runs `body` in a thread, which ends when either side closes the connection. */
  private def inThread(body: => Unit): Unit = {
    val thread = new Thread(() =>
      try body
      catch { case _: IOException => () })
    thread.setDaemon(true)
    thread.start()
  }
}

private object StopSuite {
  val stops: Int = sys.env.get("EPOCHAL_STOPS").fold(32)(_.toInt)
  val seed: Long = sys.env.get("EPOCHAL_STOP_SEED").fold(11L)(_.toLong)
}
