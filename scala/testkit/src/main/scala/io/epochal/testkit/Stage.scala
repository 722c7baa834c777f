package io.epochal.testkit

import java.nio.file.{Files, Path}

import scala.util.{Try, Using}

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.testkit.engine.QueryWatch
import io.epochal.testkit.report.{Check, NotChecked, Promise}

/** Creates the fixture and the scene of each check. */
final private[testkit] class Stage[F <: Fixture, S <: AutoCloseable](newFixture: () => F)(scene: F => S) {

  def check(promise: Promise)(body: S => Any): Check =
    new Check(promise, () => Using.resource(open(promise))(body(_): Unit))

  /** Creates something that closes the scene. Fails with `NotChecked` if the promise is exempt. */
  def make[A](promise: Promise)(make: S => A): Try[A] = Try(open(promise)).flatMap { scene =>
    val made = Try(make(scene))
    if (made.isFailure) scene.close()
    made
  }

  /** Opens a scene, which closes its fixture. */
  private def open(promise: Promise): S = {
    val fixture = newFixture()
    try {
      fixture.exemption(promise).foreach(reason => throw new NotChecked(reason))
      scene(fixture)
    } catch {
      case e: Throwable =>
        fixture.close()
        throw e
    }
  }
}

/** A fixture with its own directory. */
abstract private[testkit] class Scene[F <: Fixture](val fixture: F) extends AutoCloseable {
  protected val directory: Path = Files.createTempDirectory("epochal-testkit").toRealPath()

  def running[A](query: StreamingQuery)(use: StreamingQuery => A): A =
    try use(query)
    finally QueryWatch.stop(query)

  override def close(): Unit = {
    fixture.close()
    FileUtils.deleteDirectory(directory.toFile)
  }
}
