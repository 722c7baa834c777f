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
    val columns = fixture.columns.asScala.toSeq
    val query =
      QuerySpec(scene.toString, classOf[NumberedSource].getName, source, None, columns, fixture.format, options)
    val steps = Map(SteppedSink.Format -> fixture.format, SteppedSink.Scene -> scene.toString)
    if (stepped) query.copy(sink = classOf[SteppedSink].getName, sinkOptions = options ++ steps) else query
  }

  private def numbers(scene: Path): Path = scene.resolve("numbers")

  /** @throws io.epochal.testkit.report.NotChecked
    *   this Spark version does not have the mode
    */
  def supports(mode: Mode): Boolean = {
    val _ = mode.trigger
    fixture.modes.contains(mode.name)
  }

  def setAvailable(query: QuerySpec, count: Long): Unit = NumberedSource.setAvailable(numbers(query.scene), count)

  def stored(): Seq[Long] = fixture.stored().asScala.map(_.longValue).toSeq

  /** Makes so many epochs available, runs the query until Spark has logged their commits, then stops it. Fails the check if the query
    * does not get there.
    */
  def write(query: QuerySpec, epochs: Long): Unit = {
    setAvailable(query, epochs * SinkScene.Batch)
    running(query.start(Session.get())) { active =>
      val done = QueryWatch.run(active)(committed(query) >= epochs)
      Evidence.unless(done)(s"${committed(query)} epochs were logged as done for $epochs")
    }
  }

  def committed(query: QuerySpec): Long = query.committed.lastOption.fold(0L)(_ + 1)

  /** Asserts that the query is refused before it commits an epoch. */
  def assertRefused(error: Condition, what: String, query: QuerySpec, test: (Throwable, Condition) => Boolean): Unit =
    ExpectedRefusal.of(error, what, test) {
      running(query.start(Session.get())) { active =>
        val _ = QueryWatch.until()(!active.isActive || committed(query) > 0)
        active.exception.foreach(throw _)
      }
    }: Unit

  def assertHolds(what: String, count: Long): Unit = {
    val rows = stored()
    Evidence.onceEach(what, rows, count)
    Evidence.sameRows(what, rows, 0L until count)
  }

  /** Asserts that the stored rows are whole epochs, without a gap. */
  def assertWhole(what: String, rows: Seq[Long]): Unit = if (fixture.showsWholeEpochs)
    Evidence.unless(rows.size % SinkScene.Batch == 0 && rows.sorted == (0L until rows.size.toLong))(
      s"$what: ${rows.size} rows are visible, in epochs of ${SinkScene.Batch}: ${Evidence.shown(rows.sorted)}")
}

private[testkit] object SinkScene {

  /** Rows per epoch. */
  val Batch = 10
}
