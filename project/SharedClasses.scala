import java.security.MessageDigest

import scala.sys.process.Process

import sbt.Keys._
import sbt._

/** A class data sharing archive of the libraries' classes, for the test JVMs: loading and verifying Spark's classes would take a
  * third of their CPU time. A JVM that cannot use the archive silently ignores it.
  *
  * An archive holds classes of the jars at the beginning of the class path, so that all projects must have the same jars there.
  */
object SharedClasses {
  private val libraries = LocalProject("testsupport") / Test / externalDependencyClasspath

  /** Its name depends on the jars. */
  private val archive = Def.task {
    val jars = libraries.value.map(_.data.getPath).mkString(":")
    val digest = MessageDigest.getInstance("SHA-256").digest(jars.getBytes("UTF-8")).take(8)
    (LocalRootProject / baseDirectory).value / "build" / "classes" / s"${digest.map("%02x".format(_)).mkString}.jsa"
  }

  val archiveClasses = taskKey[Unit]("archives the classes that test JVMs load, unless it was done for these jars")

  /** For the project of the libraries. */
  val writing: Seq[Setting[_]] = Seq(
    archiveClasses := {
      val to = archive.value
      val program = baseDirectory.value / "src" / "archive" / "FirstQuery.java"
      val classPath = libraries.value.map(_.data.getPath).mkString(":")
      val log = streams.value.log
      if (!to.exists) {
        IO.delete(to.getParentFile)
        IO.createDirectory(to.getParentFile)
        val partial = to.getParentFile / "partial.jsa"
        val command = "java" +: (SparkJvm.options ++ SparkJvm.brief ++
          Seq(
            s"-XX:ArchiveClassesAtExit=$partial",
            "-Xlog:cds=off",
            "-Xlog:cds+dynamic=off",
            "-cp",
            classPath,
            program.getPath))
        if (Process(command, to.getParentFile).!(scala.sys.process.ProcessLogger(log.debug(_))) == 0)
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
    Test / javaOptions ++= Seq(s"-XX:SharedArchiveFile=${archive.value}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")
  )
}
