package io.epochal.testkit.engine

import java.nio.file.{Files, Path}

import scala.util.Using

import org.apache.commons.io.FileUtils
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.testkit.report.Evidence

/** Errors for builds whose test JVM cannot run the checks. They fail; they are not skipped. */
final class ChildJvmSuite extends AnyFunSuite {

  test("a JVM without Spark's options fails with the missing ones") {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val process = new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), ClosedJvm.Name)
      .redirectErrorStream(true)
      .start()
    val said = new String(process.getInputStream.readAllBytes())
    assert(said.contains("nothing was checked: Spark cannot run in this JVM"), said)
    assert(said.contains("--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"), said)
    assert(said.contains("sbt: Test / fork := true"), said)
  }

  test("a child process that cannot start is an error that names the setting") {
    val directory = Files.createTempDirectory("epochal-testkit")
    val classes = System.getProperty("java.class.path")
    try {
      System.setProperty("java.class.path", directory.resolve("sbt-launch.jar").toString)
      val error = intercept[Evidence](Using.resource(new ChildJvm(directory))(_.awaitReady()))
      assert(error.getMessage.contains("nothing was checked: the process that is to be killed has ended by itself"))
      assert(error.getMessage.contains("sbt: Test / fork := true"), error.getMessage)
    } finally {
      System.setProperty("java.class.path", classes)
      FileUtils.deleteDirectory(directory.toFile)
    }
  }
}

/** Main program for a JVM without options. */
object ClosedJvm {
  val Name = "io.epochal.testkit.engine.ClosedJvm"

  def main(arguments: Array[String]): Unit = {
    val _ = arguments
    SparkJvm.require()
  }
}
