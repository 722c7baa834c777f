scalaVersion := "2.13.18"
resolvers += Resolver.mavenLocal
libraryDependencies ++= Seq(
  "io.epochal" %% "epochal-kit" % "0.1.0" % Provided,
  "org.apache.spark" %% "spark-sql" % "4.2.0" % Provided,
  "com.h2database" % "h2" % "2.5.252"
)

libraryDependencies += "io.epochal" %% "epochal-testkit" % "0.1.0" % Test
// Spark needs a JVM with these options, and the kill checks start another one with the class path of this one.
Test / fork := true
Test / javaOptions ++= Seq("java.io", "java.lang", "java.lang.invoke", "java.lang.reflect", "java.net", "java.nio", "java.util",
  "java.util.concurrent", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar")
  .map(name => s"--add-opens=java.base/$name=ALL-UNNAMED")

// For --jars: the connector, and what Spark and Epochal's jar do not bring.
val jars = taskKey[Unit]("the connector and its libraries, in target/jars")
jars := {
  val libraries = (Runtime / managedClasspath).value.files.filterNot(_.getName.startsWith("scala-library"))
  (libraries :+ (Compile / packageBin).value).foreach(jar => IO.copyFile(jar, target.value / "jars" / jar.getName))
}
