package io.epochal.testkit

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.jdk.CollectionConverters._

import io.epochal.testkit.engine._
import io.epochal.testkit.report.Evidence

/** Queries of one check over the source, with recorded deliveries. */
final private[testkit] class SourceScene(fixture: SourceFixture) extends Scene(fixture) {

  private val id = UUID.randomUUID().toString
  private val (format, options, schema) = fixture match {
    case source: FormatSource =>
      (source.format, source.options.asScala.toMap, Option(source.readerSchema).filter(_.nonEmpty))
    case own =>
      FixtureSource.register(id, own.schema)(own.newStream(_, 2))
      (classOf[FixtureSource].getName, Map("id" -> id), None)
  }

  @volatile var added = 0L

  def add(rows: Int): Unit = {
    fixture.makeAvailable(rows)
    added += rows
  }

  /** A path for something else of the check. */
  def place(name: String): Path = directory.resolve(name)

  /** Adds rows before the next start of a query. If the source must run to receive them, it runs for that. */
  def addBefore(query: QuerySpec, rows: Int): Unit = fixture match {
    case source: FormatSource if source.receives => deliver(query, added)(add(rows))
    case _                                       => add(rows)
  }

  /** A query with its own checkpoint and deliveries. */
  def query(name: String = "query"): QuerySpec = {
    val scene = directory.resolve(name)
    val sink = Map("directory" -> Files.createDirectories(scene.resolve("deliveries")).toString)
    QuerySpec(scene.toString, format, options, schema, Seq("*"), classOf[RecordingSink].getName, sink)
  }

  def deliveries(query: QuerySpec): Deliveries = new Deliveries(query.scene.resolve("deliveries"))

  /** Runs the query until it has delivered `count` rows, then stops it. Fails the check if it does not deliver them.
    *
    * @param meanwhile
    *   runs after the query has started
    */
  def deliver(query: QuerySpec, count: => Long)(meanwhile: => Any = ()): Unit = {
    val log = deliveries(query)
    running(query.start(Session.get())) { active =>
      val _ = meanwhile
      // After a stop between the sink's commit and Spark's, the next start would deliver the epoch again.
      def isCommitted = log.all.lastOption.forall { case (epoch, _) => query.committed.lastOption.exists(_ >= epoch) }
      val done = QueryWatch.run(active)(log.distinctRows >= count && (!active.isActive || isCommitted))
      if (!done) {
        Evidence.onceEach(s"delivered by the query '${query.scene.getFileName}'", log.rows, count)
        Evidence.broken(s"$count rows were delivered, and Spark has not logged that their epochs are done")
      }
    }
  }

  /** Asserts that every added row was delivered once and that replays delivered the same rows. */
  def assertOnceEach(query: QuerySpec, what: String): Unit = {
    val rows = deliveries(query)
    rows.sameWhenReplayed()
    rows.onceEach(what, added)
  }

  override def close(): Unit = {
    FixtureSource.forget(id)
    super.close()
  }
}
