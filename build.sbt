import Dependencies._

ThisBuild / organization := "io.epochal"
ThisBuild / organizationName := "Epochal"
ThisBuild / version := IO.read(file("version.txt")).trim
ThisBuild / scalaVersion := Versions.scala
ThisBuild / versionScheme := Some("early-semver")
inThisBuild(Publishing.build)

// The default is one forked JVM at a time.
Global / concurrentRestrictions := Seq(
  Tags.limitAll(TestGroups.Parallel + 1),
  Tags.limit(Tags.ForkedTestGroup, TestGroups.Parallel),
  Tags.exclusiveGroup(Tags.Clean)
)

lazy val root = project
  .in(file("."))
  .aggregate(core, kit, random, rest, ingest, jdbc, cdc, inspect, app, spark, testkit, testsupport, bench)
  .settings(name := "epochal", publish / skip := true)

/** Logic without Spark: Spark is not on this class path. */
lazy val core = project
  .in(file("scala/core"))
  .settings(Common.settings, Publishing.library)
  .settings(
    name := "epochal-core",
    description := "Exactly-once connectors for Spark: offsets, journal, ledger, retries and errors, without Spark",
    Compile / resourceGenerators += Def.task {
      val to = (Compile / resourceManaged).value / "io" / "epochal" / "version.txt"
      IO.copyFile((LocalRootProject / baseDirectory).value / "version.txt", to, preserveLastModified = true)
      Seq(to)
    }.taskValue,
    libraryDependencies ++= Seq(jackson % Provided, failsafe) ++ inTests(unitTesting.map(_ % Test): _*)
  )

/** Conformance checks for any connector, under any test framework. JUnit is an optional dependency of users. */
lazy val testkit = project
  .in(file("scala/testkit"))
  .dependsOn(core)
  .settings(Common.settings, Publishing.library)
  .settings(
    name := "epochal-testkit",
    description := "Conformance checks for exactly-once sources and sinks of Spark Structured Streaming",
    Compile / tpolecatExcludeOptions ++= Common.assertions,
    libraryDependencies ++= Seq(sparkSql % Provided, junitApi % Provided) ++ unitTesting,
    libraryDependencies ++= Seq(junitEngine, junitLauncher, sqlite).map(_ % Test)
  )

/** Servers, databases and stubs for the tests of the other projects. */
lazy val testsupport = project
  .in(file("scala/testsupport"))
  .dependsOn(testkit)
  .settings(Common.settings, SharedClasses.writing)
  .settings(
    name := "epochal-testsupport",
    publish / skip := true,
    Compile / tpolecatExcludeOptions ++= Common.assertions,
    libraryDependencies += sparkSql % Provided,
    libraryDependencies ++= wiremock +: (sparkTestJars ++ otherDatabases)
  )

/** The base of all connectors. */
lazy val kit = project
  .in(file("scala/kit"))
  .dependsOn(core)
  .dependsOn(inTests(testsupport % Test): _*)
  .settings(Common.settings, Publishing.library, StableApiCheck.settings, SharedClasses.reading)
  .settings(
    name := "epochal-kit",
    description := "Base for exactly-once connectors for Spark Structured Streaming",
    Common.locales := Seq(Locales.Turkish),
    // Spark throws its exceptions when a query is stopped.
    libraryDependencies ++= (sparkSql % Provided) +: inTests(httpClient % Test, hdfs % Test)
  )

// No connector depends on another, except that tests take rows from `random`.

lazy val random = project
  .in(file("scala/random"))
  .dependsOn(kit)
  .dependsOn(inTests(testsupport % Test): _*)
  .settings(Common.settings, SharedClasses.reading)
  .settings(
    name := "epochal-random",
    publish / skip := true,
    Common.locales := Seq(Locales.Persian),
    libraryDependencies += sparkSql % Provided
  )

lazy val rest = project
  .in(file("scala/rest"))
  .dependsOn(kit % "compile->compile;test->test")
  .dependsOn(inTests(random % "test->test", testsupport % Test): _*)
  .settings(Common.settings, SharedClasses.reading)
  .settings(
    name := "epochal-rest",
    publish / skip := true,
    Common.locales := Locales.all,
    libraryDependencies ++= Seq(sparkSql % Provided, httpClient)
  )

lazy val ingest = project
  .in(file("scala/ingest"))
  .dependsOn(kit)
  .dependsOn(inTests(testsupport % Test): _*)
  .settings(Common.settings, SharedClasses.reading)
  .settings(
    name := "epochal-ingest",
    publish / skip := true,
    Common.locales := Seq(Locales.Turkish),
    libraryDependencies ++= Seq(sparkSql % Provided, jetty)
  )

lazy val jdbc = project
  .in(file("scala/jdbc"))
  .dependsOn(kit % "compile->compile;test->test")
  .dependsOn(inTests(random % Test, testsupport % Test): _*)
  .settings(Common.settings, SharedClasses.reading)
  .settings(
    name := "epochal-jdbc",
    publish / skip := true,
    Common.locales := Locales.all,
    libraryDependencies ++= Seq(sparkSql % Provided, hikari, postgresql, sqlite)
  )

lazy val cdc = project
  .in(file("scala/cdc"))
  .dependsOn(kit % "compile->compile;test->test")
  .dependsOn(inTests(testsupport % Test): _*)
  .settings(Common.settings, SharedClasses.reading)
  .settings(
    name := "epochal-cdc",
    publish / skip := true,
    Common.locales := Seq(Locales.Turkish),
    libraryDependencies ++= Seq(sparkSql % Provided, postgresql)
  )

/** Display of running queries, and reader of checkpoints. */
lazy val inspect = project
  .in(file("scala/inspect"))
  .dependsOn(kit)
  .dependsOn(inTests(random % Test, testsupport % Test): _*)
  .settings(Common.settings, SharedClasses.reading)
  .settings(
    name := "epochal-inspect",
    publish / skip := true,
    Common.locales := Seq(Locales.Persian),
    libraryDependencies += sparkSql % Provided
  )

/** All connectors: `assembly` builds the one jar for Spark's class path. */
lazy val app = project
  .in(file("scala/app"))
  .dependsOn(random, rest % "compile->compile;test->test", ingest, cdc, jdbc % "compile->compile;test->test", inspect)
  .dependsOn(inTests(testsupport % Test): _*)
  .settings(
    Common.settings,
    SharedClasses.reading,
    Packaging.settings(core, kit, random, rest, ingest, cdc, jdbc, inspect))
  .settings(
    name := "epochal-spark",
    moduleName := "epochal-app",
    // `make kit-api`, and the artifact with the documentation.
    Compile / doc / sources := StableApi.sources((LocalRootProject / baseDirectory).value / "scala"),
    Compile / doc / target := (LocalRootProject / baseDirectory).value / "build" / "kit-api",
    Compile / doc / scalacOptions ++= Seq("-doc-title", "Epochal's kit", "-doc-version", version.value),
    publish / skip := true,
    libraryDependencies ++= (sparkSql % Provided) +: inTests(archunit % Test)
  )

/** Publishes that jar. Has no sources, so its directory is in the build output. */
lazy val spark = project
  .in(file("build/spark"))
  .settings(Publishing.assembled(app, assembly, Packaging.bom))
  .settings(
    name := "epochal-spark",
    description := "Exactly-once connectors for Spark Structured Streaming: REST APIs and relational databases",
    libraryDependencies += sparkSql % Provided
  )

/** Runs the suites of all projects in the same three JVMs: one with Spark needs ten seconds of CPU before its first test. Has no
  * sources, so its directory is in the build output.
  */
lazy val suites = project
  .in(file("build/suites"))
  .dependsOn(tested.map(project => project % "test->test"): _*)
  .settings(Common.settings, SharedClasses.reading)
  .settings(
    publish / skip := true,
    Common.locales := Locales.all,
    Test / definedTests := definedTests.all(ScopeFilter(inProjects(tested: _*), inConfigurations(Test))).value.flatten)

lazy val tested = Seq[ProjectReference](core, testkit, kit, random, rest, ingest, jdbc, cdc, inspect, app)

lazy val bench = project
  .in(file("scala/bench"))
  .enablePlugins(JmhPlugin)
  .dependsOn(random, rest)
  .settings(Common.settings)
  .settings(
    name := "epochal-bench",
    publish / skip := true,
    libraryDependencies += sparkSql
  )
