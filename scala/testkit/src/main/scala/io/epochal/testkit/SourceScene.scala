package io.epochal.testkit

import java.nio.file.Files
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.testkit.engine._
import io.epochal.testkit.report.Evidence

/** Queries of one check over the source, with recorded deliveries. */
final private[testkit] class SourceScene(fixture: SourceFixture) extends Scene(fixture) {

  private val id = UUID.randomUUID().toString
  private val (format, options, schema) = fixture match {
    case named: FormatSource =>
      (named.format, named.options.asScala.toMap, Option(named.readerSchema).filter(_.nonEmpty))
    case made =>
      FixtureSource.register(id, FixtureSource.Made(made.schema, made.newStream(_, 2)))
      (classOf[FixtureSource].getName, Map("id" -> id), None)
  }

  @volatile var added = 0L

  def add(rows: Int): Unit = {
    fixture.makeAvailable(rows)
    added += rows
  }

  /** Adds rows before the next start of a query. If the source must run to receive them, it runs for that. */
  def addBefore(query: QuerySpec, rows: Int): Unit = fixture match {
    case named: FormatSource if named.receives => deliver(query, added)(add(rows))
    case _                                     => add(rows)
  }

  /** A query with its own checkpoint and deliveries. */
  def query(name: String = "query"): QuerySpec = {
    val scene = Files.createDirectories(directory.resolve(name))
    val sink = Map("directory" -> scene.resolve("deliveries").toString)
    QuerySpec(scene.toString, format, options, schema, Seq("*"), classOf[RecordingSink].getName, sink)
  }

  def deliveries(query: QuerySpec): Deliveries = new Deliveries(query.scene.resolve("deliveries"))

  /** Runs the query until it has delivered `count` rows, then stops it. Fails the check if it does not deliver them.
    *
    * @param meanwhile
    *   runs after the query has started
    */
  def deliver(query: QuerySpec, count: => Long)(meanwhile: => Any = ()): Unit = {
    val found = deliveries(query)
    running(query.start(Session.get())) { started =>
      val _ = meanwhile
      val done = QueryWatch.run(started)(found.distinctRows >= count && committed(query, started))
      if (!done) {
        Evidence.onceEach(s"delivered by the query '${query.scene.getFileName}'", found.rows, count)
        Evidence.broken(s"$count rows were delivered, and Spark has not logged that their epochs are done")
      }
    }
  }

  // After a stop between the sink's commit and Spark's, the next start would deliver the epoch again.
  private def committed(query: QuerySpec, started: StreamingQuery): Boolean =
    !started.isActive || deliveries(query).all.lastOption.forall { case (epoch, _) =>
      query.committed.lastOption.exists(_ >= epoch)
    }

  /** Asserts that every added row was delivered once and that replays delivered the same rows. */
  def assertOnceEach(query: QuerySpec, what: String): Unit = {
    val found = deliveries(query)
    found.sameWhenReplayed()
    found.onceEach(what, added)
  }

  override def close(): Unit = {
    FixtureSource.forget(id)
    super.close()
  }
}
