import org.typelevel.sbt.tpolecat.TpolecatPlugin.autoImport._
import org.typelevel.sbt.tpolecat.{CiMode, TpolecatPlugin}
import org.typelevel.scalacoptions.ScalacOptions
import sbt.Keys._
import sbt._

/** Settings common to all projects: compiler strictness, Java 17 byte code, and how tests run. */
object Common {
  private val Java = "17"

  /** Locales of the forked test JVMs, which run in parallel, one for each. */
  val locales = settingKey[Seq[Locales.Options]]("locales of the forked JVMs for the tests")

  val settings: Seq[Setting[_]] = compiling ++ testing

  val assertions = Set(ScalacOptions.warnNonUnitStatement, ScalacOptions.warnValueDiscard)

  private lazy val compiling = Seq(
    scalacOptions ++= Seq(s"-release:$Java"),
    javacOptions ++= Seq("--release", Java, "-Xlint:all,-processing", "-Werror"),
    tpolecatOptionsMode := CiMode,
    // In a suite an assertion is a statement, so its value is discarded.
    Test / tpolecatExcludeOptions ++= assertions,
    // Scaladoc cannot link to Java or to other modules, and reads `${name}` as a variable.
    Compile / doc / scalacOptions := Seq("-nowarn")
  )

  /** Forked JVMs; each runs its suites sequentially. */
  private lazy val testing = Seq(
    Test / fork := true,
    // Groups run in parallel, the suites of a group sequentially.
    Test / parallelExecution := true,
    Test / testForkedParallel := false,
    Test / javaOptions ++= SparkJvm.options ++ SparkJvm.brief ++ Seq(
      "-Xmx1500m",
      // Without these, a JVM collects all garbage several times while it starts.
      "-Xms500m",
      "-XX:MetaspaceSize=256m",
      "-XX:ReservedCodeCacheSize=128m",
      s"-Depochal.root=${(LocalRootProject / baseDirectory).value}",
      s"-Dlog4j2.configurationFile=${(LocalRootProject / baseDirectory).value / "scala" / "log4j2-test.properties"}",
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
    // `make test` excludes slow tests, `make test-all` runs them.
    Test / testOptions ++=
      (if (TestGroups.small) Seq(Tests.Argument(TestFrameworks.ScalaTest, "-l", "org.scalatest.tags.Slow")) else Nil)
  )
}
