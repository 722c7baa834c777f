package io.epochal.spark.sink.jdbc

import java.io.{BufferedInputStream, InputStream}
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path, Paths}

import scala.util.Using

import org.apache.commons.compress.archivers.tar.{TarArchiveEntry, TarArchiveInputStream}
import org.apache.commons.compress.compressors.CompressorStreamFactory

/** The programs of a server, which come as an archive in a jar for 64-bit Linux. */
final private[jdbc] class ServerArchive(server: String, resource: String) {

  /** Where they are now, or why they are not. */
  def unpack(): Either[String, Path] = {
    val archive = Option(getClass.getClassLoader.getResourceAsStream(resource))
    val suits = System.getProperty("os.name") == "Linux" && System.getProperty("os.arch") == "amd64"
    archive.filter(_ => suits).toRight(s"$server is there for 64-bit Linux only").map { bytes =>
      val home = Files.createTempDirectory("epochal-programs")
      Using.resource(new TarArchiveInputStream(uncompressed(bytes))) { tar =>
        Iterator.continually(tar.getNextEntry).takeWhile(_ != null).foreach(write(tar, _, home))
      }
      Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwxr-xr-x"))
      Runtime.getRuntime.addShutdownHook(new Thread(() =>
        org.apache.commons.io.FileUtils.deleteQuietly(home.toFile): Unit))
      home
    }
  }

  private def uncompressed(bytes: InputStream): InputStream =
    new CompressorStreamFactory().createCompressorInputStream(new BufferedInputStream(bytes))

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
