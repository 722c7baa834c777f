package io.epochal.jdbc

import java.io.{BufferedInputStream, InputStream}
import java.net.URL
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{FileSystemException, Files, Path, Paths, StandardCopyOption}

import scala.util.Using

import org.apache.commons.compress.archivers.tar.{TarArchiveEntry, TarArchiveInputStream}
import org.apache.commons.compress.compressors.CompressorStreamFactory
import org.apache.commons.io.FileUtils

/** Programs of a server, in an archive in a jar for 64-bit Linux. Unpacking takes ten seconds, so all JVMs of all runs share a
  * directory per archive.
  */
final private[jdbc] class ServerArchive(server: String, resource: String) {

  /** Unpacks the archive if needed. Returns the directory, or why there is none. */
  def unpack(): Either[String, Path] = {
    val archive = Option(getClass.getClassLoader.getResource(resource))
    val suits = System.getProperty("os.name") == "Linux" && System.getProperty("os.arch") == "amd64"
    archive.filter(_ => suits).toRight(s"$server is there for 64-bit Linux only").map { url =>
      val jar = url.getPath.takeWhile(_ != '!').split('/').last
      val user = System.getProperty("user.name")
      val shared = Files.createDirectories(Paths.get(System.getProperty("java.io.tmpdir"), s"epochal-programs-$user"))
      require(Files.getOwner(shared).getName == user, s"$shared belongs to ${Files.getOwner(shared)}")
      val home = shared.resolve(jar.stripSuffix(".jar"))
      if (!Files.exists(home)) unpack(url, home)
      home
    }
  }

  /** Atomic: a directory that exists is complete, also with concurrent callers. */
  private def unpack(archive: URL, home: Path): Unit = {
    val unfinished = Files.createTempDirectory(home.getParent, "unfinished")
    Using.resource(new TarArchiveInputStream(uncompressed(archive.openStream()))) { tar =>
      Iterator.continually(tar.getNextEntry).takeWhile(_ != null).foreach(write(tar, _, unfinished))
    }
    Files.setPosixFilePermissions(unfinished, PosixFilePermissions.fromString("rwxr-xr-x"))
    try Files.move(unfinished, home, StandardCopyOption.ATOMIC_MOVE)
    catch { case _: FileSystemException if Files.exists(home) => FileUtils.deleteDirectory(unfinished.toFile) }
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
