package io.epochal.testkit

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.epochal.core.error.Condition
import io.epochal.testkit.engine._
import io.epochal.testkit.report.Evidence

/** Queries of one check that write numbers to the sink. */
final private[testkit] class SinkScene(fixture: FormatSink) extends Scene(fixture) {

  /** @param stepped
    *   whether the query can be paused at the sink's commit
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
    QuerySpec(scene.toString, classOf[NumberedSource].getName, source, None, columns, sink, sinkOptions)
  }

  private def numbers(scene: Path): Path = scene.resolve("numbers")

  def supports(mode: Mode): Boolean = fixture.modes.contains(mode.name)

  /** Makes the numbers before `count` available to the query's source. */
  def setAvailable(query: QuerySpec, count: Long): Unit = NumberedSource.setAvailable(numbers(query.scene), count)

  def stored(): Seq[Long] = fixture.stored().asScala.map(_.longValue).toSeq

  /** Runs the query until Spark has logged `epochs` commits, then stops it. Fails the check if the query does not get there. */
  def write(query: QuerySpec, epochs: Long): Unit =
    running(query.start(Session.get())) { started =>
      val done = QueryWatch.run(started)(committed(query) >= epochs)
      Evidence.unless(done)(s"${committed(query)} epochs were logged as done for $epochs")
    }

  def committed(query: QuerySpec): Long = query.committed.lastOption.fold(0L)(_ + 1)

  /** Asserts that the query is refused before it commits an epoch. */
  def assertRefused(error: Condition, what: String, query: QuerySpec, test: (Throwable, Condition) => Boolean): Unit =
    Refusal.of(error, what, test) {
      running(query.start(Session.get())) { started =>
        val _ = QueryWatch.until()(!started.isActive || committed(query) > 0)
        started.exception.foreach(throw _)
      }
    }: Unit

  def assertHolds(what: String, count: Long): Unit = {
    val found = stored()
    Evidence.onceEach(what, found, count)
    Evidence.sameRows(what, found, 0L until count)
  }

  /** Asserts that the stored rows are whole epochs, without a gap. */
  def assertWhole(what: String, found: Seq[Long]): Unit = if (fixture.showsWholeEpochs)
    Evidence.unless(found.size % SinkScene.Batch == 0 && found.sorted == (0L until found.size.toLong))(
      s"$what: ${found.size} rows are visible, in epochs of ${SinkScene.Batch}: ${Evidence.shown(found.sorted)}")
}

private[testkit] object SinkScene {

  /** Rows per epoch. */
  val Batch = 10
}
