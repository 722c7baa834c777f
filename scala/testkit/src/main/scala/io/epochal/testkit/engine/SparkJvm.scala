package io.epochal.testkit.engine

import io.epochal.testkit.report.Evidence

/** What Spark needs of a JVM since Java 17: packages of the JDK that are open to it. */
private[testkit] object SparkJvm {

  private val packages =
    Seq("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util", "util.concurrent").map("java." + _) ++
      Seq("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")

  val options: Seq[String] = packages.map(option)

  /** Fails with the options that this JVM lacks; Spark itself would fail with an `IllegalAccessError`. */
  def require(): Unit = {
    val closed = packages.filterNot(classOf[Object].getModule.isOpen(_, getClass.getModule))
    Evidence.unless(closed.isEmpty)(
      "nothing was checked: Spark cannot run in this JVM. Run the tests in a JVM of their own (sbt: Test / fork := true) with " +
        s"the options ${closed.map(option).mkString(" ")} (Maven Surefire: argLine; sbt: Test / javaOptions).")
  }

  private def option(name: String): String = s"--add-opens=java.base/$name=ALL-UNNAMED"
}
