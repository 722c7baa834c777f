import org.typelevel.sbt.tpolecat.TpolecatPlugin.autoImport._
import org.typelevel.sbt.tpolecat.{CiMode, TpolecatPlugin}
import org.typelevel.scalacoptions.ScalacOptions
import sbt.Keys._
import sbt._

/** What every project shares: compiler strictness, Java 17 byte code, and how tests are run. */
object Common {
  private val Java = "17"

  /** JVMs run a project's suites side by side, one for each of these. */
  val locales = settingKey[Seq[Locales.Options]]("locales of the forked JVMs for the tests")

  val settings: Seq[Setting[_]] = compiling ++ testing

  val assertions = Set(ScalacOptions.warnNonUnitStatement, ScalacOptions.warnValueDiscard)

  private lazy val compiling = Seq(
    scalacOptions ++= Seq(s"-release:$Java"),
    javacOptions ++= Seq("--release", Java, "-Xlint:all,-processing", "-Werror"),
    tpolecatOptionsMode := CiMode,
    // In a suite an assertion is a statement, and its value is rightly dropped.
    Test / tpolecatExcludeOptions ++= assertions,
    // Scaladoc knows no links to what Java or another module documents, and takes `${name}` for a variable of its own.
    Compile / doc / scalacOptions := Seq("-nowarn")
  )

  /** Forked JVMs, in each of which suites run one after the other. */
  private lazy val testing = Seq(
    Test / fork := true,
    // Groups run side by side, the suites of one after the other.
    Test / parallelExecution := true,
    Test / testForkedParallel := false,
    Test / javaOptions ++= SparkJvm.options ++ Seq(
      "-Xmx1500m",
      // A suite ends before the optimizing compiler has paid for itself.
      "-XX:TieredStopAtLevel=1",
      "-XX:ReservedCodeCacheSize=128m",
      "-XX:+UseSerialGC",
      s"-Depochal.root=${(LocalRootProject / baseDirectory).value}",
      s"-Dlog4j2.configurationFile=${(LocalRootProject / baseDirectory).value / "scala" / "log4j2-test.properties"}",
      "-Dspark.ui.enabled=false",
      "-Dspark.driver.bindAddress=127.0.0.1",
      "-Dspark.driver.host=127.0.0.1",
      "-Duser.timezone=UTC"
    ),
    locales := Seq(Locales.Machine),
    Test / testGrouping := TestGroups.of(
      (Test / definedTests).value,
      locales.value,
      (Test / forkOptions).value,
      target.value / "test-work",
      (LocalRootProject / baseDirectory).value / "project" / "suite-seconds.txt"),
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF"),
    // What `make test` leaves to `make test-all`.
    Test / testOptions ++=
      (if (TestGroups.small) Seq(Tests.Argument(TestFrameworks.ScalaTest, "-l", "org.scalatest.tags.Slow")) else Nil)
  )
}
