package io.epochal.kit.spark

import java.io.{File, PrintWriter, StringWriter}
import java.net.URLClassLoader

import org.apache.logging.log4j.Level
import org.apache.spark.SparkException
import org.scalatest.funsuite.AnyFunSuite
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.support.LoggedLines

final class ErrorLogSuite extends AnyFunSuite {
  private val spark = "org.apache.spark"
  private val query = s"$spark.sql.execution.streaming.MicroBatchExecution"

  /** Another one for each test: a repeated one is not logged again. */
  private def failed(name: String): EpochalException =
    Condition(name, "Record <record> is odd.", "Correct it.")("record" -> 7)

  private def log(logger: String, text: String, thrown: Throwable): Unit =
    LoggerFactory.getLogger(logger).error(text, thrown)

  private def stackTrace(thrown: Throwable): String = {
    val text = new StringWriter
    thrown.printStackTrace(new PrintWriter(text))
    text.toString
  }

  private def logged(body: => Unit): Seq[String] = LoggedLines.of(Level.WARN)(body).drop(1)

  test("all that Spark logs about one failure is its message once, and the query that it ended") {
    val error = failed("ODD_RECORD")
    val lines = logged {
      log(s"$spark.util.Utils", "Aborting task", error)
      log(s"$spark.executor.Executor", "Exception in task 0.0", new SparkException("writing failed", error))
      log(s"$spark.scheduler.TaskSetManager", s"Lost task 0.0 (h executor driver): ${stackTrace(error)}", null)
      log(s"$spark.scheduler.TaskSetManager", "Task 0 in stage 0.0 failed 1 times; aborting job", null)
      log(query, "Query q [id = 1] terminated with error", new SparkException("Job aborted", error))
      log(s"$spark.executor.Executor", "Exception in the next run", error)
    }
    assert(
      lines == Seq(
        s"$spark.util.Utils Aborting task: ${error.getMessage}",
        s"$spark.scheduler.TaskSetManager Task 0 in stage 0.0 failed 1 times; aborting job",
        s"$query Query q [id = 1] terminated with error: [EPOCHAL.ODD_RECORD]",
        s"$spark.executor.Executor Exception in the next run: ${error.getMessage}"
      ))
  }

  test("a failure on another machine, which the driver has as text, is one line") {
    val error = failed("ODD_TEXT")
    val around = new SparkException("[TASK_WRITE_FAILED] it failed", new SparkException("again", error))
    assert(
      logged(log(s"$spark.scheduler.TaskSetManager", s"Lost task 0.0 (h executor 1): ${stackTrace(around)}", null)) ==
        Seq(s"$spark.scheduler.TaskSetManager Lost task 0.0 (h executor 1): ${error.getMessage}"))
  }

  test("failures of the user's code, of another team's connector and of other loggers stay as they are") {
    val mine = new IllegalStateException("my rows", failed("ODD_CAUSE"))
    val lines = logged {
      log(query, "terminated", new SparkException("Job aborted", mine))
      log(query, "terminated too", new SparkException("Job aborted", new IllegalStateException("mine")))
      log(s"$spark.scheduler.TaskSetManager", s"Lost task: ${stackTrace(mine)}", null)
      log(query, "of a connector", new SparkException("Job aborted", failed("CONNECTOR_FAILED")))
      log("com.example.Main", "my job failed", failed("ODD_JOB"))
    }
    assert(
      lines.map(_.linesIterator.next()) == Seq(
        s"$query terminated",
        s"$query terminated too",
        s"$spark.scheduler.TaskSetManager Lost task: $mine",
        s"$query of a connector",
        "com.example.Main my job failed"
      ))
  }

  test("at DEBUG Spark's own events are logged") {
    val error = failed("ODD_DEBUG")
    val lines = LoggedLines.of(Level.DEBUG)(log(query, "terminated", error))
    assert(lines.contains(s"$query terminated"))
  }

  test("without Log4j 2 errors are made, and Spark's log is as it is") {
    val places = System.getProperty("java.class.path").split(File.pathSeparator).filterNot(_.contains("log4j-core"))
    val loader = new URLClassLoader(places.map(new File(_).toURI.toURL), ClassLoader.getPlatformClassLoader)
    try Class.forName("io.epochal.kit.SparkEpochalException", true, loader): Unit
    finally loader.close()
  }
}
