package io.epochal.jdbc

import java.nio.file.{FileSystemException, Files, Path, Paths, StandardCopyOption}

import scala.sys.process._

import org.apache.commons.io.FileUtils

/** Programs of servers below `java.io.tmpdir`, shared by all JVMs of all runs. Any user may run them. */
private[jdbc] object SharedPrograms {

  /** The directory of this name. If it is missing, `fill` puts its files into an empty one. Atomic: a directory that exists is
    * complete, even with concurrent callers.
    */
  def directory(name: String)(fill: Path => Unit): Path = {
    val user = System.getProperty("user.name")
    val shared = Files.createDirectories(Paths.get(System.getProperty("java.io.tmpdir"), s"epochal-programs-$user"))
    require(Files.getOwner(shared).getName == user, s"$shared belongs to ${Files.getOwner(shared)}")
    val home = shared.resolve(name)
    if (!Files.exists(home)) {
      val unfinished = Files.createTempDirectory(shared, "unfinished")
      fill(unfinished)
      Seq("chmod", "a+rx", shared.toString).!!
      Seq("chmod", "-R", "a+rX", unfinished.toString).!!
      try Files.move(unfinished, home, StandardCopyOption.ATOMIC_MOVE): Unit
      catch { case _: FileSystemException if Files.exists(home) => FileUtils.deleteDirectory(unfinished.toFile) }
    }
    home
  }
}
