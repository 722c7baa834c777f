package io.epochal.testkit

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.testkit.engine._
import io.epochal.testkit.report.{Evidence, NotChecked, Promise}

/** A query over the source, whose deliveries are recorded, for one check. */
final private[testkit] class SourceScene(val fixture: SourceFixture, directory: Path) extends AutoCloseable {

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

  /** Adds rows before the next start of a query: in a run of their own, where the source must be there to receive them. */
  def addBefore(query: QuerySpec, rows: Int): Unit = fixture match {
    case named: FormatSource if named.receives => deliver(query, added)(add(rows))
    case _                                     => add(rows)
  }

  /** The query, with its checkpoint and what it delivered below a directory: `name` tells the queries of a scene apart. */
  def query(name: String = "query"): QuerySpec = {
    val scene = Files.createDirectories(directory.resolve(name))
    val sink = Map("directory" -> scene.resolve("deliveries").toString)
    QuerySpec(scene, format, options, schema, Seq("*"), classOf[RecordingSink].getName, sink)
  }

  def deliveries(query: QuerySpec): Deliveries = new Deliveries(query.scene.resolve("deliveries"))

  /** Runs the query until it has delivered as many rows as are given, and stops it. That it does not is evidence.
    *
    * @param meanwhile
    *   done once the query has started
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

  // Stopped between the sink's commit and Spark's, the next start would deliver the epoch again.
  private def committed(query: QuerySpec, started: StreamingQuery): Boolean =
    !started.isActive || deliveries(query).all.lastOption.forall { case (epoch, _) =>
      Logs.epochs(query.checkpoint, "commits").lastOption.exists(_ >= epoch)
    }

  def running[A](query: StreamingQuery)(use: StreamingQuery => A): A =
    try use(query)
    finally QueryWatch.stop(query)

  /** That all rows which were added came, each once, and replays brought what had come before. */
  def assertOnceEach(query: QuerySpec, what: String): Unit = {
    val found = deliveries(query)
    found.sameWhenReplayed()
    found.onceEach(what, added)
  }

  override def close(): Unit = {
    FixtureSource.forget(id)
    fixture.close()
    Directories.delete(directory)
  }
}

private[testkit] object SourceScene {

  def open(newFixture: () => SourceFixture, promise: Promise): SourceScene = {
    val fixture = newFixture()
    Exemptions.of(fixture, promise) match {
      case Some(reason) =>
        fixture.close()
        throw new NotChecked(reason)
      case None => new SourceScene(fixture, Files.createTempDirectory("epochal-testkit").toRealPath())
    }
  }

  def in(newFixture: () => SourceFixture, promise: Promise)(body: SourceScene => Any): Unit = {
    val scene = open(newFixture, promise)
    try { val _ = body(scene) }
    finally scene.close()
  }

}
