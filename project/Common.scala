import org.typelevel.sbt.tpolecat.{CiMode, TpolecatPlugin}
import org.typelevel.sbt.tpolecat.TpolecatPlugin.autoImport._
import org.typelevel.scalacoptions.ScalacOptions
import sbt._
import sbt.Keys._

/** What every project shares: compiler strictness, Java 17 byte code, and how tests are run. */
object Common {
  private val Java = "17"

  val settings: Seq[Setting[_]] = compiling ++ testing

  val assertions = Set(ScalacOptions.warnNonUnitStatement, ScalacOptions.warnValueDiscard)

  private lazy val compiling = Seq(
    scalacOptions ++= Seq(s"-release:$Java"),
    javacOptions ++= Seq("--release", Java, "-Xlint:all,-processing", "-Werror"),
    tpolecatOptionsMode := CiMode,
    // In a suite an assertion is a statement, and its value is rightly dropped.
    Test / tpolecatExcludeOptions ++= assertions,
    semanticdbEnabled := true,
    semanticdbVersion := Dependencies.Versions.semanticdb
  )

  /** One forked JVM per project, its suites one after the other, in a directory of its own that Spark may litter. */
  private lazy val testing = Seq(
    Test / fork := true,
    Test / parallelExecution := false,
    Test / testForkedParallel := false,
    Test / javaOptions ++= SparkJvm.options ++ Seq(
      "-Xmx2g",
      s"-Depochal.root=${(LocalRootProject / baseDirectory).value}",
      s"-Dlog4j2.configurationFile=${(LocalRootProject / baseDirectory).value / "scala" / "log4j2-test.properties"}",
      "-Dspark.ui.enabled=false",
      "-Dspark.driver.bindAddress=127.0.0.1",
      "-Dspark.driver.host=127.0.0.1",
      "-Duser.timezone=UTC"
    ),
    Test / forkOptions := {
      val directory = target.value / "test-work"
      IO.createDirectory(directory)
      (Test / forkOptions).value.withWorkingDirectory(directory)
    },
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF")
  )
}
