package io.epochal.core.failpoint

import java.nio.file.StandardOpenOption.{APPEND, WRITE}
import java.nio.file.{Files, NoSuchFileException, Path, Paths}
import java.sql.SQLException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

/** Test-only: does nothing, and costs one comparison with null, unless the JVM was started with the system property
  * `epochal.failpoints`, a list of `<step>=<action>` or `<step>=<action>@<n>` (the n-th time only) with semicolons between:
  *
  *   - `halt` ends the JVM at once, as SIGKILL does
  *   - `fail` throws, as any bug would
  *   - `fatal` throws an error of the JVM, as a class that cannot be loaded would
  *   - `disconnect` throws what a driver throws when the connection is lost
  *   - `hold:<file>` waits until the file is gone; adds the thread's name to it as a line
  */
private[epochal] object Failpoints {
  val Property = "epochal.failpoints"

  private val Spec = "([a-z.-]+)=([a-z]+)(?::([^@]+))?(?:@(\\d+))?".r

  private val heldPoints = ConcurrentHashMap.newKeySet[Failpoint]()

  @volatile private var armedPoints: Seq[Armed] = parse(System.getProperty(Property))

  /** For tests in this JVM: arms failpoints as the system property does. */
  def arm(spec: String): Unit = {
    heldPoints.clear()
    armedPoints = parse(spec)
  }

  def disarm(): Unit = armedPoints = null

  def reach(point: Failpoint): Unit = {
    val now = armedPoints
    if (now != null) now.filter(_.point == point).foreach(_.reach())
  }

  private def parse(spec: String): Seq[Armed] =
    if (spec == null || spec.isEmpty) null
    else
      spec.split(';').toSeq.map {
        case Spec(name, action, argument, time) =>
          val point =
            Failpoint.all.find(_.name == name).getOrElse(throw new IllegalArgumentException(s"no failpoint '$name'"))
          new Armed(point, action, argument, Option(time).map(_.toInt))
        case other => throw new IllegalArgumentException(s"not a failpoint: '$other'")
      }

  final private class Armed(val point: Failpoint, action: String, argument: String, time: Option[Int]) {
    private val times = new AtomicInteger

    def reach(): Unit = if (time.forall(_ == times.incrementAndGet())) action match {
      case "halt"       => Runtime.getRuntime.halt(137)
      case "fail"       => throw new IllegalStateException(s"failpoint ${point.name}")
      case "fatal"      => throw new LinkageError(s"failpoint ${point.name}")
      case "disconnect" => throw new SQLException(s"failpoint ${point.name}", "08006")
      case "hold"       => hold()
      case other        => throw new IllegalArgumentException(s"no action '$other'")
    }

    private def hold(): Unit = {
      val file = Paths.get(argument)
      heldPoints.add(point): Unit
      var announced = false
      while (Files.exists(file)) {
        announced ||= announce(file)
        Thread.sleep(5)
      }
    }

    /** Adds the thread's name to the file; false if the file no longer exists. */
    private def announce(file: Path): Boolean =
      try {
        Files.writeString(file, s"${Thread.currentThread.getName}\n", WRITE, APPEND): Unit
        true
      } catch { case _: NoSuchFileException => false }
  }

  /** Whether a thread waits, or has waited, at the failpoint since it was armed. */
  def isHeld(point: Failpoint): Boolean = heldPoints.contains(point)
}
