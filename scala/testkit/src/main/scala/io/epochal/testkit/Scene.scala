package io.epochal.testkit

import java.nio.file.{Files, Path}

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.testkit.engine.QueryWatch

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
