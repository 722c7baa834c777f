package io.epochal.support

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{ChecksumFs, DelegateToFileSystem, FileStatus, LocalFileSystem, Path, RawLocalFileSystem}

/** Hadoop's local files without the processes that it starts where its native library is missing: `chmod` for each file that it
  * creates, and `readlink` for each that it renames. A micro-batch has dozens of them.
  *
  * `SparkJvm.files` names these classes to Spark.
  */
final class LocalFiles extends LocalFileSystem(new RawLocalFiles)

/** The same for Hadoop's newer interface. */
final class LocalFilesContext(uri: URI, settings: Configuration) extends ChecksumFs(new RawContext(uri, settings))

final private class RawContext(uri: URI, settings: Configuration)
    extends DelegateToFileSystem(uri, new RawLocalFiles, settings, uri.getScheme, false) {
  override def getUriDefaultPort: Int = -1
  override def isValidName(name: String): Boolean = true
}

final private class RawLocalFiles extends RawLocalFileSystem {

  override def setPermission(path: Path, permission: FsPermission): Unit =
    Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(permission.toString)): Unit

  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path) else getFileStatus(path)
}
