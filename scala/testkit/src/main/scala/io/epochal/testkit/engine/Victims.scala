package io.epochal.testkit.engine

import java.nio.file.Path

import scala.io.Source
import scala.util.control.NonFatal

/** The program of a process that is going to be killed. It starts queries as it is told, one command on each line of its input:
  *
  *   - `start <file of a QuerySpec> <step> <epoch>`: the query waits at the step of the epoch, and a line says `reached`
  *   - `go <scene>`: it goes on
  *
  * It ends with its input.
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
          catch { case NonFatal(e) => say(s"$Failed$scene\t${io.epochal.testkit.report.Evidence.text(e)}") })
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
