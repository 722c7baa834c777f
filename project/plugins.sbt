addSbtPlugin("com.eed3si9n" % "sbt-assembly" % "2.3.1")
addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.6.2")
addSbtPlugin("ch.epfl.scala" % "sbt-scalafix" % "0.14.3")
addSbtPlugin("org.typelevel" % "sbt-tpolecat" % "0.5.5")
addSbtPlugin("pl.project13.scala" % "sbt-jmh" % "0.4.8")
addSbtPlugin("com.timushev.sbt" % "sbt-updates" % "0.6.4")
addSbtPlugin("com.typesafe" % "sbt-mima-plugin" % "1.1.6")

// The build definition's compiler bridge as it is published: sbt would compile its sources, 10 s of each first build.
scalaCompilerBridgeBinaryJar := {
  val bridge = scalaCompilerBridgeSource.value.withExplicitArtifacts(Vector.empty).intransitive()
  val retrieved = dependencyResolution.value.retrieve(bridge, None, target.value / "bridge", streams.value.log)
  retrieved.toOption.flatMap(_.find(_.getName.startsWith("compiler-bridge")))
}
