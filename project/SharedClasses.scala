import java.security.MessageDigest

import scala.sys.process.{Process, ProcessLogger}

import sbt.Keys._
import sbt._

/** A class data sharing archive of the libraries' classes, for the test JVMs: loading and verifying Spark's classes would take a
  * third of their CPU time. A JVM that cannot use the archive silently ignores it.
  *
  * An archive holds classes of the jars at the beginning of the class path, so that all projects must have the same jars there.
  */
object SharedClasses {
  private val libraries = LocalProject("testsupport") / Test / externalDependencyClasspath

  private val quiet = Seq("-Xlog:cds=off", "-Xlog:cds+dynamic=off")

  private val classPath = Def.task(libraries.value.map(_.data.getPath).mkString(":"))

  /** Its name depends on the jars. */
  private val archive = Def.task {
    val digest = MessageDigest.getInstance("SHA-256").digest(classPath.value.getBytes("UTF-8")).take(8)
    (LocalRootProject / baseDirectory).value / "build" / "classes" / s"${digest.map("%02x".format(_)).mkString}.jsa"
  }

  val archiveClasses = taskKey[Unit]("archives the classes that test JVMs load, unless it was done for these jars")

  /** For the project of the libraries. */
  val writing: Seq[Setting[_]] = Seq(
    archiveClasses := {
      val to = archive.value
      val program = baseDirectory.value / "src" / "archive" / "FirstQuery.java"
      val jars = classPath.value
      val log = streams.value.log
      if (!to.exists) {
        IO.delete(to.getParentFile)
        IO.createDirectory(to.getParentFile)
        val partial = to.getParentFile / "partial.jsa"
        // The JVM that sbt forks for the tests: another one could not use the archive.
        val java = file(sys.props("java.home")) / "bin" / "java"
        val command = java.getPath +: (SparkJvm.options ++ SparkJvm.brief ++ quiet ++
          Seq(s"-XX:ArchiveClassesAtExit=$partial", "-cp", jars, program.getPath))
        if (Process(command, to.getParentFile).!(ProcessLogger(log.debug(_))) == 0)
          IO.move(partial, to)
        else log.warn("No archive of classes: the test JVMs start slower")
      }
    }
  )

  /** For projects whose tests use these libraries. */
  val reading: Seq[Setting[_]] = Seq(
    Test / fullClasspath := {
      val first = libraries.value
      val jars = first.map(_.data).toSet
      first ++ (Test / fullClasspath).value.filterNot(entry => jars(entry.data))
    },
    Test / javaOptions ++= SparkJvm.files ++ (s"-XX:SharedArchiveFile=${archive.value}" +: quiet)
  )
}
