package io.epochal.jdbc

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._
import scala.util.Try

import io.epochal.core.error.EpochalException
import io.epochal.testkit.Epoch

/** A writer in a separate process, which a test can kill and freeze. It writes epoch 0 and then, in one transaction, epoch
  * 1; at its end it prints the outcome: `written`, or the name of the error's condition.
  *
  * Arguments: URL, query, rows of epoch 1, then options as `name=value`.
  */
object StuckWriter {

  def main(arguments: Array[String]): Unit = {
    val (url, query, rows) = (arguments(0), arguments(1), arguments(2))
    val options = arguments.drop(3).map(_.split("=", 2)).map(pair => pair(0) -> pair(1)).toMap
    val fixture = new JdbcSinkFixture(new OfUrl(url))
    val run = fixture.newRun(query, options)
    def write(epoch: Long, numbers: Range): Unit = {
      fixture.logOffsets(epoch, offsets(epoch))
      val now = new Epoch(epoch, run.newWrite(), 1)
      now.commit(Seq(now.task(0, 0, numbers.map(n => fixture.row(n.toLong)))))
    }
    write(0, First)
    println(try {
      write(1, First.end until First.end + rows.toInt)
      "written"
    } catch { case error: EpochalException => error.condition.name })
  }

  val First: Range = 0 until 10

  def offsets(epoch: Long): String = s"""{"epoch":$epoch,"offsets":"same"}"""

  final private class OfUrl(override val url: String) extends TestDatabase {
    override val name = url
    override def close(): Unit = ()
  }

  /** Starts a writer. */
  def start(url: String, query: String, rows: Int, options: (String, String)*): StuckWriter = {
    val java = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val opens = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
      .filter(argument => argument.startsWith("--add") || argument.startsWith("java.base"))
    val command = Seq(java, "-Xmx700m", "-XX:TieredStopAtLevel=1") ++ opens ++
      Seq("-cp", System.getProperty("java.class.path"), "io.epochal.jdbc.StuckWriter", url, query, rows.toString) ++
      options.map { case (name, value) => s"$name=$value" }
    val output = Files.createTempFile("epochal-writer", ".log")
    new StuckWriter(
      new ProcessBuilder(command: _*).redirectErrorStream(true).redirectOutput(output.toFile).start(),
      output)
  }
}

final class StuckWriter private (process: Process, log: Path) {

  def output: String = Try(Files.readString(log)).getOrElse("")

  def isAlive: Boolean = process.isAlive

  def freeze(): Unit = signal("STOP")
  def thaw(): Unit = signal("CONT")
  def kill(): Unit = process.destroyForcibly().waitFor(20, TimeUnit.SECONDS): Unit

  /** The last line that it printed before its end. */
  def outcome(): String = {
    if (!process.waitFor(90, TimeUnit.SECONDS)) throw new AssertionError(s"it has not ended: $output")
    output.trim.linesIterator.toSeq.lastOption.getOrElse("")
  }

  private def signal(name: String): Unit =
    if (new ProcessBuilder("kill", s"-$name", process.pid.toString).start().waitFor() != 0)
      throw new AssertionError(s"no signal $name: $output")
}
