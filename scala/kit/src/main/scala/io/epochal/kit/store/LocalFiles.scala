package io.epochal.kit.store

import java.io.{File, FileOutputStream, IOException}
import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption.READ
import java.nio.file.{FileAlreadyExistsException, Files, Path}

import scala.util.{Try, Using}

import io.epochal.core.journal.FileOutput

/** Files in a directory of a local disk, durable: `sync` makes a file's bytes survive a loss of power, and its name too.
  *
  * Not guaranteed where the disk or its driver lies about a sync.
  */
final private[store] class LocalFiles(directory: Path) {

  /** @throws java.nio.file.FileAlreadyExistsException
    *   where there is one: of two that create it at once, one does
    */
  def create(name: String): FileOutput = {
    Files.createDirectories(directory)
    val file = directory.resolve(name).toFile
    if (!file.createNewFile()) throw new FileAlreadyExistsException(file.toString)
    new LocalOutput(file)
  }

  /** @throws java.io.IOException
    *   where the directory is there and cannot be read
    */
  def names(): Seq[String] = Option(directory.toFile.list()) match {
    case Some(names)                        => names.toSeq
    case None if Files.notExists(directory) => Nil
    case None                               => throw new IOException(s"the files in $directory cannot be listed")
  }

  /** The first of this directory makes those above it durable as well, which may have been made for it: as far as they can be
    * read.
    */
  private lazy val above: Unit = {
    val parents = Iterator.iterate(directory.toAbsolutePath.getParent)(_.getParent).takeWhile(_ != null)
    parents.take(LocalFiles.Above).foreach(parent => Try(LocalFiles.forceDirectory(parent)))
  }

  // A stream, and no channel: an interruption of the thread does not close it.
  final private class LocalOutput(file: File) extends FileOutput {
    private val out = new FileOutputStream(file)
    private var named = false

    override def write(bytes: Array[Byte], from: Int, length: Int): Unit = out.write(bytes, from, length)

    override def sync(): Unit = {
      out.getFD.sync()
      if (!named) {
        LocalFiles.forceDirectory(directory)
        above
        named = true
      }
    }

    override def close(): Unit = out.close()
  }
}

private object LocalFiles {

  /** From a journal's directory up to that of the checkpoint. */
  private val Above = 4

  /** Windows has no such thing: there the file system does so by itself. */
  def forceDirectory(directory: Path): Unit =
    if (File.separatorChar == '/') Using.resource(FileChannel.open(directory, READ))(_.force(true))
}
