package io.epochal.testkit.engine

import org.apache.spark.sql.SparkSession

import io.epochal.testkit.report.Evidence

/** Session of the checks: the active one, or a new one, which [[release]] stops. */
private[testkit] object Session {
  private var ours = Option.empty[SparkSession]

  def get(master: String = "local[4]"): SparkSession = synchronized {
    val session = SparkSession.getActiveSession
      .orElse(SparkSession.getDefaultSession)
      .filterNot(_.sparkContext.isStopped)
      .getOrElse {
        SparkJvm.require()
        val session = create(master)
        ours = Some(session)
        session
      }
    StepFileSystem.register(session.sparkContext.hadoopConfiguration)
    session
  }

  def release(): Unit = synchronized {
    ours.foreach { session =>
      session.stop()
      SparkSession.clearActiveSession()
      SparkSession.clearDefaultSession()
    }
    ours = None
  }

  /** Creates a minimal session. */
  private def create(master: String): SparkSession = SparkSession
    .builder()
    .master(master)
    .appName("epochal-testkit")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
}

/** JVM options that Spark needs since Java 17: `--add-opens` for packages of the JDK. */
private[testkit] object SparkJvm {

  private val packages =
    Seq("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util", "util.concurrent").map("java." + _) ++
      Seq("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")

  val options: Seq[String] = packages.map(option)

  /** Fails with the missing options; Spark itself would fail with an `IllegalAccessError`. */
  def require(): Unit = {
    val closedPackages = packages.filterNot(classOf[Object].getModule.isOpen(_, getClass.getModule))
    Evidence.unless(closedPackages.isEmpty)(
      "nothing was checked: Spark cannot run in this JVM. Run the tests in a JVM of their own (sbt: Test / fork := true) with " +
        s"the options ${closedPackages.map(option).mkString(" ")} (Maven Surefire: argLine; sbt: Test / javaOptions).")
  }

  private def option(name: String): String = s"--add-opens=java.base/$name=ALL-UNNAMED"
}
