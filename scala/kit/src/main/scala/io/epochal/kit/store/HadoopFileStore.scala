package io.epochal.kit.store

import java.io._
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption.{READ, WRITE}
import java.nio.file.{FileAlreadyExistsException, FileSystemException, Files, NoSuchFileException, Path => LocalPath}
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.{FsAction, FsPermission}
import org.apache.hadoop.util.functional.FutureIO
import org.slf4j.LoggerFactory

import io.epochal.core.journal.{FileInput, FileOutput, FileStore}
import io.epochal.kit.spark.QueryStop

/** A directory in any file system that Hadoop supports: that of the query's checkpoint. Serialized to the executors.
  *
  * @param directory
  *   created with its first file
  * @param guardedPath
  *   this directory, or a parent, that only its owner may read, if the file system supports permissions
  */
final class HadoopFileStore(
    directory: String,
    @transient private var hadoop: Configuration,
    guardedPath: Option[String] = None)
    extends FileStore
    with Serializable {
  import HadoopFileStore._

  @transient private lazy val path = new Path(directory)

  // Files here have their own checksums, and do without Hadoop's checksum files.
  @transient private lazy val files: FileSystem = path.getFileSystem(hadoop) match {
    case local: LocalFileSystem => local.getRaw
    case other                  => other
  }

  /** A local disk, on which Hadoop does not make directory entries durable. */
  @transient private lazy val local: Option[LocalFiles] = files match {
    case raw: RawLocalFileSystem if raw.getClass == classOf[RawLocalFileSystem] =>
      Some(new LocalFiles(raw.pathToFile(path).toPath))
    case _ => None
  }

  /** Sets no permissions: on a local disk that starts a program, which takes longer than writing a segment. */
  override def create(name: String): FileOutput = {
    guard
    local.fold(createThere(name))(_.create(name))
  }

  /** A store that cannot sync open files makes a file durable when it is closed; HDFS shows no reader the length of an open
    * file.
    */
  override def syncsOpenFiles: Boolean = local.nonEmpty

  private def createThere(name: String): FileOutput = {
    val file = new Path(path, name)
    val (replication, block) = (files.getDefaultReplication(file), files.getDefaultBlockSize(file))
    new HadoopOutput(files.create(file, null, false, HadoopFileStore.BufferSize, replication, block, null))
  }

  /** One request on S3: its client looks for an existing file, or directory, unless an option forbids it. */
  override def createUnique(name: String): FileOutput = {
    guard
    local.fold[FileOutput](new HadoopOutput(fileBuilder(name).opt(Performance, true).build()))(_.create(name))
  }

  /** Only S3 creates a file by one conditional request; on HDFS and ABFS a file exists before it has content. */
  override def createConditionally(name: String): Option[FileOutput] = Option
    .when(files.getUri.getScheme == "s3a") {
      guard
      try
        Some(new HadoopOutput(fileBuilder(name).must(Conditional, true).build()) {
          override def close(): Unit =
            try super.close()
            catch { case e: IOException if isRefused(e) => throw new FileAlreadyExistsException(s"$directory/$name") }
        })
      // Hadoop before 3.4.2, or switched off.
      catch { case _: IllegalArgumentException | _: UnsupportedOperationException => None }
    }
    .flatten

  private def fileBuilder(name: String): FSDataOutputStreamBuilder[_ <: FSDataOutputStream, _] = {
    val builder = files.createFile(new Path(path, name))
    builder.overwrite(true).recursive()
    builder
  }

  /** Created once, before the first file is written. */
  @transient private lazy val guard: Unit = guardedPath.map(new Path(_)).filterNot(files.exists).foreach { directory =>
    files.mkdirs(directory, new FsPermission(FsAction.ALL, FsAction.NONE, FsAction.NONE))
  }

  override def open(name: String): FileInput = {
    val file = new Path(path, name)
    try {
      val length = files.getFileStatus(file).getLen
      new HadoopInput(files.open(file, HadoopFileStore.BufferSize), length)
    } catch {
      // Java also throws this for a file that it may not open, or lacks a descriptor for.
      case e: FileNotFoundException if files.exists(file) => throw new IOException(e.getMessage, e)
      case _: FileNotFoundException                       => throw new NoSuchFileException(s"$directory/$name")
    }
  }

  /** One request on S3, and none for the length. */
  override def open(name: String, length: Long): FileInput =
    if (local.nonEmpty) open(name)
    else {
      val file = new Path(path, name)
      // S3 asks for what the status says; others ignore it.
      val status = new FileStatus(length, false, 1, length, 0L, files.makeQualified(file))
      val builder = files.openFile(file).withFileStatus(status).opt(ReadPolicy, "whole-file, sequential")
      missing(name)(new HadoopInput(FutureIO.awaitFuture(builder.build()), length) {
        override def read(position: Long, into: Array[Byte], from: Int, length: Int): Unit =
          missing(name)(super.read(position, into, from, length))
      })
    }

  private def missing[A](name: String)(body: => A): A =
    try body
    catch { case _: FileNotFoundException => throw new NoSuchFileException(s"$directory/$name") }

  override def exists(name: String): Boolean = files.exists(new Path(path, name))

  override def lengths(): Map[String, Long] =
    try files.listStatus(path).iterator.map(file => file.getPath.getName -> file.getLen).toMap
    catch { case _: FileNotFoundException => Map.empty }

  override def names(): Seq[String] = local.fold(namesThere())(_.names())

  private def namesThere(): Seq[String] =
    try files.listStatus(path).toSeq.map(_.getPath.getName)
    catch { case _: FileNotFoundException => Nil }

  /** Makes files that Hadoop has written here durable, with the names of all files, where Hadoop itself does not. */
  private[kit] def settle(names: Seq[String]): Unit = local.foreach(_.settle(names))

  override def delete(name: String): Unit = {
    val _ = files.delete(new Path(path, name), false)
  }

  /** One request for many files on S3. */
  override def deleteAll(names: Seq[String]): Seq[(String, Throwable)] =
    if (local.nonEmpty || names.isEmpty) super.deleteAll(names)
    else
      try
        Using.resource(files.createBulkDelete(path)) { deletion =>
          names.grouped(deletion.pageSize).toSeq.flatMap { page =>
            val failures = deletion.bulkDelete(page.map(new Path(path, _)).asJava).asScala
            failures.map(failure => failure.getKey.getName -> new IOException(failure.getValue))
          }
        }
      catch { case e: IOException => names.map(_ -> e) }

  /** A subdirectory. */
  def below(name: String): HadoopFileStore = new HadoopFileStore(new Path(path, name).toString, hadoop, guardedPath)

  override def toString: String = directory

  // Serialized once, though it travels with every batch.
  @transient private lazy val settings: Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    hadoop.write(new DataOutputStream(bytes))
    bytes.toByteArray
  }

  private def writeObject(out: ObjectOutputStream): Unit = {
    out.defaultWriteObject()
    out.writeInt(settings.length)
    out.write(settings)
  }

  private def readObject(in: ObjectInputStream): Unit = {
    in.defaultReadObject()
    val bytes = new Array[Byte](in.readInt())
    in.readFully(bytes)
    hadoop = HadoopFileStore.configuration(bytes)
  }
}

private object HadoopFileStore {
  val Performance = "fs.s3a.create.performance"
  val Conditional = "fs.option.create.conditional.overwrite"
  val ReadPolicy = "fs.option.openfile.read.policy"

  /** Whether a conditional request failed because a file of that name exists. */
  def isRefused(error: IOException): Boolean = error match {
    case _: org.apache.hadoop.fs.FileAlreadyExistsException => true
    case other => other.getClass.getSimpleName == "RemoteFileChangedException"
  }

  val BufferSize: Int = 256 << 10

  /** The maximum number of streams whose settings a JVM caches: reading them takes longer than many tasks do. */
  private val Remembered = 16

  private val configurations = new java.util.LinkedHashMap[ByteBuffer, Configuration](Remembered, 0.75f, true) {
    override def removeEldestEntry(eldest: java.util.Map.Entry[ByteBuffer, Configuration]): Boolean = size > Remembered
  }

  def configuration(settings: Array[Byte]): Configuration = configurations.synchronized {
    configurations.computeIfAbsent(
      ByteBuffer.wrap(settings),
      _ => {
        val hadoop = new Configuration(false)
        hadoop.readFields(new DataInputStream(new ByteArrayInputStream(settings)))
        hadoop
      })
  }
}

private class HadoopOutput(out: FSDataOutputStream) extends FileOutput {
  private var closed = false

  override def write(bytes: Array[Byte], from: Int, length: Int): Unit = out.write(bytes, from, length)

  // Object stores cannot sync: a file is visible and durable once it is closed.
  override def sync(): Unit = if (out.hasCapability(StreamCapabilities.HSYNC)) out.hsync()

  override def abandon(): Unit =
    if (!closed && out.hasCapability(StreamCapabilities.ABORTABLE_STREAM)) {
      closed = true
      out.abort(): Unit
    } else close()

  override def close(): Unit = if (!closed) {
    closed = true
    out.close()
  }
}

private class HadoopInput(in: FSDataInputStream, override val length: Long) extends FileInput {

  override def read(position: Long, into: Array[Byte], from: Int, length: Int): Unit = {
    if (position + length > this.length) throw new EOFException(s"it has ${this.length} bytes")
    if (in.getPos != position) in.seek(position)
    in.readFully(into, from, length)
  }

  override def close(): Unit =
    try in.close()
    catch { case _: IOException => () }
}

/** Durable files in a directory of a local disk: `sync` makes a file's bytes survive a power loss, and its name too.
  *
  * Not guaranteed if the disk or its driver lies about a sync, or for a name if the file system cannot sync directories, as
  * some network mounts.
  */
final private[store] class LocalFiles(directory: LocalPath) {

  /** Creates a file.
    *
    * @throws java.nio.file.FileAlreadyExistsException
    *   if it exists: of two concurrent calls, one creates it
    */
  def create(name: String): FileOutput = {
    Files.createDirectories(directory)
    val file = directory.resolve(name).toFile
    if (!file.createNewFile()) throw new FileAlreadyExistsException(file.toString)
    new LocalOutput(file)
  }

  /** The names of all files.
    *
    * @throws java.io.IOException
    *   if the directory exists and cannot be read
    */
  def names(): Seq[String] = Option(directory.toFile.list()) match {
    case Some(names)                        => names.toSeq
    case None if Files.notExists(directory) => Nil
    case None                               => throw new IOException(s"the files in $directory cannot be listed")
  }

  /** Makes files durable, and all names. */
  def settle(names: Seq[String]): Unit = {
    names.foreach(name => Using.resource(FileChannel.open(directory.resolve(name), WRITE))(_.force(true)))
    try force(directory)
    catch {
      case e: FileSystemException                         => throw e // It cannot be opened.
      case e: IOException if !QueryStop.isInterruption(e) => LocalFiles.cannotForce(directory, e)
    }
    above
  }

  /** The first call also makes the parent directories durable, which may have been created for this one, as far as they can be
    * read.
    */
  private lazy val above: Unit = {
    val parents = Iterator.iterate(directory.toAbsolutePath.getParent)(_.getParent).takeWhile(_ != null)
    parents.take(Above).foreach(parent => Try(force(parent)))
  }

  /** From a journal's directory up to the checkpoint's. */
  final private val Above = 4

  /** Windows cannot sync a directory; its file system does so itself. */
  private def force(directory: LocalPath): Unit =
    if (File.separatorChar == '/') Using.resource(FileChannel.open(directory, READ))(_.force(true))

  // A stream, not a channel: an interruption of the thread does not close it.
  final private class LocalOutput(file: File) extends FileOutput {
    private val out = new FileOutputStream(file)
    private var isNameSynced = false

    override def write(bytes: Array[Byte], from: Int, length: Int): Unit = out.write(bytes, from, length)

    override def sync(): Unit = {
      out.getFD.sync()
      if (!isNameSynced) {
        settle(Nil)
        isNameSynced = true
      }
    }

    override def close(): Unit = out.close()
  }
}

private object LocalFiles {
  private val isReported = new AtomicBoolean

  def cannotForce(directory: LocalPath, error: IOException): Unit =
    if (isReported.compareAndSet(false, true))
      LoggerFactory
        .getLogger(classOf[LocalFiles])
        .warn(s"The names of new files may be lost when the power fails: $directory cannot be synced ($error).")
}
