package io.epochal.testkit

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.testkit.engine._
import io.epochal.testkit.report.{Evidence, NotChecked, Promise}

/** A query that writes numbers to the sink, for one check. */
final private[testkit] class SinkScene(val fixture: FormatSink, directory: Path) extends AutoCloseable {

  /** @param stepped
    *   whether the query can be stopped at the sink's commit
    */
  def query(name: String = "query", stepped: Boolean = false): QuerySpec = {
    val scene = Files.createDirectories(directory.resolve(name))
    val source = Map("file" -> numbers(scene).toString, "batch" -> SinkScene.Batch.toString)
    val options = fixture.options.asScala.toMap
    val (sink, sinkOptions) =
      if (!stepped) (fixture.format, options)
      else
        (
          classOf[SteppedSink].getName,
          options ++ Map(SteppedSink.Format -> fixture.format, SteppedSink.Scene -> scene.toString))
    val columns = fixture.columns.asScala.toSeq
    QuerySpec(scene, classOf[NumberedSource].getName, source, None, columns, sink, sinkOptions)
  }

  private def numbers(scene: Path): Path = scene.resolve("numbers")

  def supports(mode: Mode): Boolean = fixture.modes.contains(mode.name)

  /** Has the source of a query say that there are so many numbers, from 0 on. */
  def setAvailable(query: QuerySpec, count: Long): Unit = NumberedSource.setAvailable(numbers(query.scene), count)

  def stored(): Seq[Long] = fixture.stored().asScala.map(_.longValue).toSeq

  /** Runs the query until Spark has logged as many epochs, and stops it. That it does not is evidence. */
  def write(query: QuerySpec, epochs: Long): Unit =
    running(query.start(Session.get())) { started =>
      val done = QueryWatch.run(started)(committed(query) >= epochs)
      Evidence.unless(done)(s"${committed(query)} epochs were logged as done for $epochs")
    }

  def committed(query: QuerySpec): Long = Logs.epochs(query.checkpoint, "commits").lastOption.fold(0L)(_ + 1)

  def running[A](query: StreamingQuery)(use: StreamingQuery => A): A =
    try use(query)
    finally QueryWatch.stop(query)

  def assertHolds(what: String, count: Long): Unit = {
    val found = stored()
    Evidence.onceEach(what, found, count)
    Evidence.sameRows(what, found, 0L until count)
  }

  /** That what is stored is the first epochs, none in part. */
  def assertWhole(what: String, found: Seq[Long]): Unit = if (fixture.showsWholeEpochs)
    Evidence.unless(found.size % SinkScene.Batch == 0 && found.sorted == (0L until found.size.toLong))(
      s"$what: ${found.size} rows are visible, in epochs of ${SinkScene.Batch}: ${Evidence.shown(found.sorted)}")

  override def close(): Unit = {
    fixture.close()
    Directories.delete(directory)
  }
}

private[testkit] object SinkScene {

  /** Rows of an epoch. */
  val Batch = 10

  def open(newFixture: () => FormatSink, promise: Promise): SinkScene = {
    val fixture = newFixture()
    Exemptions.of(fixture, promise) match {
      case Some(reason) =>
        fixture.close()
        throw new NotChecked(reason)
      case None => new SinkScene(fixture, Files.createTempDirectory("epochal-testkit").toRealPath())
    }
  }

  def in(newFixture: () => FormatSink, promise: Promise)(body: SinkScene => Any): Unit = {
    val scene = open(newFixture, promise)
    try { val _ = body(scene) }
    finally scene.close()
  }
}
