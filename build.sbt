import Dependencies._
ThisBuild / scalaVersion := Versions.scala
lazy val core = project.in(file("scala/core")).settings(libraryDependencies ++= Seq(jackson % Provided, failsafe, scalaTest % Test, scalaCheck % Test, scalaTestCheck % Test))
lazy val spark = project.in(file("scala/spark")).dependsOn(core).settings(libraryDependencies ++= Seq(sparkSql % Provided, httpClient, hikari, postgresql, sqlite, wiremock % Test) ++ sparkTestJars.map(_ % Test))
