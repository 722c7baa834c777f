package io.epochal.jdbc

import java.io.{BufferedInputStream, InputStream}
import java.net.URL
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path, Paths}

import scala.util.Using

import org.apache.commons.compress.archivers.tar.{TarArchiveEntry, TarArchiveInputStream}
import org.apache.commons.compress.compressors.CompressorStreamFactory

/** Programs of a server for 64-bit Linux, in an archive in a jar. Unpacking takes ten seconds. */
final private[jdbc] class ServerArchive(server: String, resource: String) {

  /** Unpacks the archive if needed. Returns the directory, or why there is none. */
  def unpack(): Either[String, Path] = {
    val archive = Option(getClass.getClassLoader.getResource(resource))
    val suits = System.getProperty("os.name") == "Linux" && System.getProperty("os.arch") == "amd64"
    archive.filter(_ => suits).toRight(s"$server is there for 64-bit Linux only").map { url =>
      val jar = url.getPath.takeWhile(_ != '!').split('/').last
      SharedPrograms.directory(jar.stripSuffix(".jar"))(unpack(url, _))
    }
  }

  private def unpack(archive: URL, home: Path): Unit =
    Using.resource(new TarArchiveInputStream(uncompressed(archive.openStream()))) { tar =>
      Iterator.continually(tar.getNextEntry).takeWhile(_ != null).foreach(write(tar, _, home))
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
