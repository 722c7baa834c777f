package io.epochal.testkit.engine

import java.io.{BufferedReader, InputStreamReader, PrintWriter}
import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.epochal.testkit.report.Evidence

/** A process with the class path of this one. Runs queries until it is killed. */
final private[testkit] class ChildJvm(directory: Path, cores: Int = 32) extends AutoCloseable {

  private val errors = directory.resolve("child.log")
  private val process = new ProcessBuilder(ChildJvm.command(directory, cores).asJava)
    .directory(directory.toFile)
    .redirectError(errors.toFile)
    .start()
  private val commands = new PrintWriter(process.getOutputStream, true, UTF_8)
  private val ready = new CountDownLatch(1)
  private val reached = ConcurrentHashMap.newKeySet[String]()
  private val failed = new ConcurrentHashMap[String, String]

  private val listener = new Thread(() => listen(), "epochal-testkit-child")
  listener.setDaemon(true)
  listener.start()

  private def listen(): Unit = {
    val lines = new BufferedReader(new InputStreamReader(process.getInputStream, UTF_8))
    Iterator.continually(lines.readLine()).takeWhile(_ != null).foreach { line =>
      if (line == Victims.Ready) ready.countDown()
      else if (line.startsWith(Victims.Reached)) { val _ = reached.add(line.drop(Victims.Reached.length)) }
      else if (line.startsWith(Victims.Failed)) {
        val parts = line.drop(Victims.Failed.length).split("\t", 2)
        val _ = failed.put(parts.head, parts.last)
      }
    }
  }

  /** Waits until the process has a session. */
  def awaitReady(): Unit = {
    val deadline = System.nanoTime() + ChildJvm.StartNanos
    while (!ready.await(200, TimeUnit.MILLISECONDS)) {
      assertAlive()
      if (System.nanoTime() > deadline) {
        kill()
        Evidence.broken("nothing was checked: the process that is to be killed had no session after five minutes")
      }
    }
  }

  def start(query: QuerySpec, step: Step, epoch: Long): Unit = {
    val file = query.scene.resolve("query")
    query.save(file)
    commands.println(s"start\t$file\t${step.name}\t$epoch")
  }

  def go(query: QuerySpec): Unit = commands.println(s"go\t${query.scene}")

  def hasReached(query: QuerySpec): Boolean = reached.contains(query.scene.toString)

  /** The error that ended a query, if any. */
  def failure(query: QuerySpec): Option[String] = Option(failed.get(query.scene.toString))

  def assertRunning(query: QuerySpec): Unit = {
    failure(query).foreach(why => Evidence.broken(s"the query failed before it was killed: $why"))
    assertAlive()
  }

  private def assertAlive(): Unit = if (!process.isAlive) {
    val text = Files.readString(errors).takeRight(2000)
    val hint =
      if (text.contains(Victims.getClass.getName.stripSuffix("$")))
        "Run the tests in a JVM of their own, whose class path is theirs (sbt: Test / fork := true). "
      else ""
    Evidence.broken(s"nothing was checked: the process that is to be killed has ended by itself. ${hint}Output: $text")
  }

  /** Kills the process (SIGKILL) and waits for its end. */
  def kill(): Unit = { val _ = process.destroyForcibly().waitFor() }

  override def close(): Unit = {
    kill()
    commands.close()
  }
}

private object ChildJvm {

  private val StartNanos = TimeUnit.MINUTES.toNanos(5)

  /** JVM options that the child does not inherit: debuggers and agents serve one process, and the child sets its own memory. */
  private val NotForChild = Seq("-agentlib", "-agentpath", "-javaagent", "-Xrunjdwp", "-Xmx", "-Xms")

  /** Inherited options of this JVM. */
  private def options: Seq[String] =
    ManagementFactory.getRuntimeMXBean.getInputArguments.asScala.toSeq
      .filterNot(each => NotForChild.exists(each.startsWith) || each.matches("-XX:[+-]Use\\w+GC"))

  def command(directory: Path, cores: Int): Seq[String] = {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    // The process is short-lived: the optimizing compiler would not pay off.
    val quick = Seq("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
    // The class path can exceed the maximum length of a command line.
    val argument = Files.writeString(
      directory.resolve("class-path"),
      "-cp\n\"" + System.getProperty("java.class.path").replace("\\", "\\\\") + "\"\n")
    Seq(java) ++ SparkJvm.options ++ options ++ quick ++ Seq(
      s"@$argument",
      Victims.getClass.getName.stripSuffix("$"),
      cores.toString)
  }
}

/** Main program of the child process. Reads commands from its input, one per line:
  *
  *   - `start <file of a QuerySpec> <step> <epoch>`: the query waits at the step of the epoch; prints a line with [[Reached]]
  *   - `go <scene>`: the query continues
  *
  * Exits at the end of its input.
  */
private[testkit] object Victims {

  val Ready = "epochal-testkit ready"
  val Reached = "epochal-testkit reached "
  val Failed = "epochal-testkit failed "

  def main(arguments: Array[String]): Unit = {
    val session = Session.create(s"local[${arguments.headOption.getOrElse("32")}]")
    say(Ready)
    Source.stdin.getLines().map(_.split('\t').toList).foreach {
      case List("start", file, step, epoch) =>
        val query = QuerySpec.load(Path.of(file))
        val scene = query.scene.toString
        Steps.arm(scene, Step.named(step), epoch.toLong)(say(Reached + scene))
        val started = new Thread(() =>
          try query.start(session).awaitTermination()
          catch { case NonFatal(e) => say(s"$Failed$scene\t${Evidence.text(e)}") })
        started.setDaemon(true)
        started.start()
      case List("go", scene) => Steps.go(scene)
      case other             => say(s"$Failed\tnot a command: $other")
    }
    Runtime.getRuntime.halt(1)
  }

  private def say(line: String): Unit = synchronized {
    println(line)
    Console.out.flush()
  }
}
