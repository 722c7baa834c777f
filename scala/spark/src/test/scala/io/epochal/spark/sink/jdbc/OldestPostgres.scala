package io.epochal.spark.sink.jdbc

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path, Paths}

import scala.util.Using

import org.apache.commons.compress.archivers.tar.{TarArchiveEntry, TarArchiveInputStream}
import org.apache.commons.compress.compressors.xz.XZCompressorInputStream

/** The programs of PostgreSQL 13, which come as an archive in a jar for 64-bit Linux. */
private[jdbc] object OldestPostgres {

  private val Archive = "postgres-linux-x86_64.txz"

  /** Where they are now, or why they are not. */
  def unpack(): Either[String, Path] = {
    val archive = Option(getClass.getClassLoader.getResourceAsStream(Archive))
    val suits = System.getProperty("os.name") == "Linux" && System.getProperty("os.arch") == "amd64"
    archive.filter(_ => suits).toRight("PostgreSQL 13 is there for 64-bit Linux only").map { bytes =>
      val home = Files.createTempDirectory("epochal-postgres13")
      Using.resource(new TarArchiveInputStream(new XZCompressorInputStream(bytes))) { tar =>
        Iterator.continually(tar.getNextEntry).takeWhile(_ != null).foreach(write(tar, _, home))
      }
      Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwxr-xr-x"))
      Runtime.getRuntime.addShutdownHook(new Thread(() =>
        org.apache.commons.io.FileUtils.deleteQuietly(home.toFile): Unit))
      home.resolve("bin")
    }
  }

  private def write(tar: TarArchiveInputStream, entry: TarArchiveEntry, home: Path): Unit = {
    val file = home.resolve(entry.getName).normalize()
    Files.createDirectories(if (entry.isDirectory) file else file.getParent)
    if (entry.isSymbolicLink) Files.createSymbolicLink(file, Paths.get(entry.getLinkName)): Unit
    else if (entry.isFile) {
      Files.copy(tar, file)
      if ((entry.getMode & 0x40) != 0)
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x")): Unit
    }
  }
}
