package io.epochal.testkit

import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.Comparator

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.testkit.engine.QueryWatch
import io.epochal.testkit.report.{Check, NotChecked, Promise}

/** Creates the fixture and the scene of each check. */
final private[testkit] class Stage[F <: Fixture, S <: AutoCloseable](newFixture: () => F)(scene: F => S) {

  def check(promise: Promise)(body: S => Any): Check =
    new Check(promise, () => Using.resource(open(promise))(body(_): Unit))

  /** Opens a scene, which closes its fixture.
    *
    * @throws io.epochal.testkit.report.NotChecked
    *   the promise is exempt
    */
  def open(promise: Promise): S = {
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
    Directories.delete(directory)
  }
}

private[testkit] object Directories {

  def delete(directory: Path): Unit = if (Files.exists(directory))
    Using.resource(Files.walk(directory)) { found =>
      found.sorted(Comparator.reverseOrder[Path]()).iterator.asScala.foreach(Files.deleteIfExists(_))
    }

  def copy(from: Path, to: Path): Unit =
    Using.resource(Files.walk(from)) { found =>
      found.iterator.asScala.foreach { path =>
        val target = to.resolve(from.relativize(path).toString)
        if (Files.isDirectory(path)) Files.createDirectories(target): Unit
        else Files.copy(path, target, StandardCopyOption.REPLACE_EXISTING): Unit
      }
    }
}
