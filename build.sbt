import Dependencies._

ThisBuild / organization := "io.epochal"
ThisBuild / organizationName := "Epochal"
ThisBuild / version := IO.read(file("version.txt")).trim
ThisBuild / scalaVersion := Versions.scala
ThisBuild / versionScheme := Some("early-semver")
inThisBuild(Publishing.build)

// The default lets one forked JVM run at a time.
Global / concurrentRestrictions := Seq(
  Tags.limitAll(TestGroups.Parallel + 1),
  Tags.limit(Tags.ForkedTestGroup, TestGroups.Parallel),
  Tags.exclusiveGroup(Tags.Clean)
)

lazy val root = project
  .in(file("."))
  .aggregate(core, kit, testkit, connectors, spark, bench)
  .settings(name := "epochal", publish / skip := true)

/** Policy without Spark: nothing here can name a Spark class, because none is on this class path. */
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
    libraryDependencies ++= Seq(jackson % Provided, failsafe) ++ unitTesting.map(_ % Test)
  )

/** The checks any connector can be put through, from any test framework. Who uses JUnit brings it. */
lazy val testkit = project
  .in(file("scala/testkit"))
  .dependsOn(core)
  .settings(Common.settings, Publishing.library)
  .settings(
    name := "epochal-testkit",
    description := "Checks that every exactly-once source and sink for Spark Structured Streaming must pass",
    Compile / tpolecatExcludeOptions ++= Common.assertions,
    libraryDependencies ++= Seq(sparkSql % Provided, junitApi % Provided) ++ unitTesting,
    libraryDependencies ++= Seq(junitEngine, junitLauncher, sqlite).map(_ % Test)
  )

/** What every connector stands on. */
lazy val kit = project
  .in(file("scala/kit"))
  .dependsOn(core)
  .settings(Common.settings, Publishing.library, StableApiCheck.settings)
  .settings(
    name := "epochal-kit",
    description := "What exactly-once connectors for Spark Structured Streaming are built on",
    libraryDependencies += sparkSql % Provided
  )

/** The connectors, and by `assembly` the one jar that users put on Spark's class path. */
lazy val connectors = project
  .in(file("scala/connectors"))
  .dependsOn(kit, testkit % Test)
  .settings(Common.settings, Packaging.settings)
  .settings(
    name := "epochal-spark",
    moduleName := "epochal-connectors",
    publish / skip := true,
    Common.testGroups := TestGroups.Groups,
    libraryDependencies ++= Seq(sparkSql % Provided, httpClient, jetty, hikari, postgresql, sqlite),
    libraryDependencies ++= (wiremock +: archunit +: (sparkTestJars ++ otherDatabases)).map(_ % Test)
  )

/** That jar as it is published. There is nothing else to it, so its directory is one of the build. */
lazy val spark = project
  .in(file("build/spark"))
  .settings(Publishing.assembled(connectors, assembly, Packaging.bom))
  .settings(
    name := "epochal-spark",
    description := "Exactly-once connectors for Spark Structured Streaming: REST APIs and relational databases",
    libraryDependencies += sparkSql % Provided
  )

lazy val bench = project
  .in(file("scala/bench"))
  .enablePlugins(JmhPlugin)
  .dependsOn(connectors)
  .settings(Common.settings)
  .settings(
    name := "epochal-bench",
    publish / skip := true,
    libraryDependencies += sparkSql
  )
