package io.epochal.kit.store

import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.{Files, NoSuchFileException, Path, Paths}

import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

/** Distinguishes an unreadable local directory or file from a missing one. */
final class HadoopFileStoreSuite extends AnyFunSuite {
  private val directory = Files.createTempDirectory("epochal-store")

  private def store(name: String) = new HadoopFileStore(directory.resolve(name).toString, new Configuration(false))

  test("a missing directory has no files, and one that cannot be listed is a failure") {
    assert(store("missing").names().isEmpty)
    Files.writeString(directory.resolve("file"), "no directory"): Unit
    val error = intercept[IOException](store("file").names())
    assert(error.getMessage.contains(directory.resolve("file").toString))
  }

  test("a missing file is reported as missing, and one that cannot be opened is a failure") {
    intercept[NoSuchFileException](store("").open("missing")): Unit
    Files.createDirectories(directory.resolve("below")): Unit
    val error = intercept[IOException](store("").open("below"))
    assert(!error.isInstanceOf[NoSuchFileException])
  }

  test("a directory that cannot be synced is no failure, but one that is missing, or a file, is") {
    val cannotSync = Paths.get("/proc/self/task")
    assume(Files.exists(cannotSync) && Try(force(cannotSync)).isFailure)
    new LocalFiles(cannotSync).settle(Nil)
    intercept[NoSuchFileException](new LocalFiles(directory.resolve("missing")).settle(Nil))
    intercept[IOException](new LocalFiles(directory).settle(Seq("missing")))
  }

  private def force(directory: Path): Unit =
    Using.resource(FileChannel.open(directory))(_.force(true))
}
