package io.epochal.testkit.engine

import java.io.{ObjectInputStream, ObjectOutputStream, PrintWriter}
import java.lang.management.ManagementFactory
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentHashMap

import scala.io.Source
import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import io.epochal.core.thread.DaemonThreads
import io.epochal.testkit.report.Evidence

/** A process with the class path of this one. Runs queries until it is killed. */
final private[testkit] class ChildJvm(directory: Path, cores: Int = 32) extends AutoCloseable {

  private val errors = directory.resolve("child.log")
  private val process = new ProcessBuilder(ChildJvm.command(directory, cores).asJava)
    .directory(directory.toFile)
    .redirectError(errors.toFile)
    .start()
  private val commands = new PrintWriter(process.outputWriter(UTF_8), true)

  /** Reports of the process: event and scene, to the text. */
  private val reports = new ConcurrentHashMap[(String, String), String]

  new DaemonThreads("epochal-testkit-child").newThread(() => listen()).start()

  private def listen(): Unit = process.inputReader(UTF_8).lines().iterator.asScala.map(_.split("\t", 4)).foreach {
    case Array(Victims.Report, event, scene, text) => reports.put(event -> scene, text): Unit
    case _                                         => ()
  }

  /** Waits until the process has a session. */
  def awaitReady(): Unit = {
    val ready = QueryWatch.until(ChildJvm.StartMillis, pauseMillis = 200) {
      assertAlive()
      reports.containsKey(Victims.Ready -> "")
    }
    if (!ready) {
      kill()
      Evidence.broken("nothing was checked: the process that is to be killed had no session after five minutes")
    }
  }

  def start(query: QuerySpec, step: KillStep, epoch: Long): Unit = {
    val file = query.scene.resolve("query")
    Using.resource(new ObjectOutputStream(Files.newOutputStream(file)))(_.writeObject((query, step, epoch)))
    commands.println(s"start\t$file")
  }

  def go(query: QuerySpec): Unit = commands.println(s"go\t${query.directory}")

  def hasReached(query: QuerySpec): Boolean = reports.containsKey(Victims.Reached -> query.directory)

  /** Waits for a condition of a running query. Fails the check with `problem` if it does not hold in time. */
  def await(query: QuerySpec, problem: => String)(condition: => Boolean): Unit = {
    val holds = QueryWatch.until() {
      Option(reports.get(Victims.Failed -> query.directory))
        .foreach(why => Evidence.broken(s"the query failed before it was killed: $why"))
      assertAlive()
      condition
    }
    Evidence.unless(holds)(problem)
  }

  private def assertAlive(): Unit = if (!process.isAlive) {
    val text = Files.readString(errors).takeRight(2000)
    val hint =
      if (text.contains(ChildJvm.Main))
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

  private val StartMillis = 300000L
  private val Main = Victims.getClass.getName.stripSuffix("$")

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
    Seq(java) ++ SparkJvm.options ++ options ++ quick ++ Seq(s"@$argument", Main, cores.toString)
  }
}

/** Main program of the child process. Reads commands from its input, one per line:
  *
  *   - `start <file>`: starts the query in the file, which waits at a step of an epoch; reports [[Reached]] there
  *   - `go <scene>`: the query continues
  *
  * A report is a line of its output: [[Report]], the event, the scene, and a text. Exits at the end of its input.
  */
private[testkit] object Victims {

  val Report = "epochal-testkit"
  val Ready = "ready"
  val Reached = "reached"
  val Failed = "failed"

  def main(arguments: Array[String]): Unit = {
    val session = Session.get(s"local[${arguments.head}]")
    report(Ready, "")
    Source.stdin.getLines().map(_.split('\t').toList).foreach {
      case List("go", scene) => Steps.go(scene)
      case List("start", file) =>
        val (query, step, epoch) = Using.resource(new ObjectInputStream(Files.newInputStream(Path.of(file))))(
          _.readObject().asInstanceOf[(QuerySpec, KillStep, Long)])
        Steps.arm(query.directory, step, epoch)(report(Reached, query.directory))
        val body: Runnable = () =>
          try query.start(session).awaitTermination()
          catch { case NonFatal(e) => report(Failed, query.directory, Evidence.text(e)) }
        new DaemonThreads("epochal-testkit-query").newThread(body).start()
      case other => throw new IllegalArgumentException(s"not a command: $other")
    }
    Runtime.getRuntime.halt(1)
  }

  private def report(event: String, scene: String, text: String = ""): Unit = synchronized {
    println(Seq(Report, event, scene, text).mkString("\t"))
    Console.out.flush()
  }
}
