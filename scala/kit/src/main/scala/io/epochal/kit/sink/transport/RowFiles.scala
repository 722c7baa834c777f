package io.epochal.kit.sink.transport

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.file.NoSuchFileException
import java.util.UUID
import java.util.zip.CRC32C

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{FileInput, FileOutput}
import io.epochal.kit.store.HadoopFileStore

/** Files of rows on their way from tasks to the driver, in a directory of one run. Serialized to the tasks.
  *
  * A file is `int32 length, bytes` for each chunk, big-endian. It belongs to one attempt of one task: its name has a unique
  * token. It counts if and only if a message names it, with its length and checksum. Committed files, and files that no message
  * names, are removed: at the end of each epoch with files, and, of older runs, by the next claim.
  *
  * @param runs
  *   the directory of all runs of this query
  * @param run
  *   the name of this one
  */
final case class RowFiles(runs: HadoopFileStore, run: String) {

  private def mine: HadoopFileStore = runs.below(run)

  /** Creates a file, in a task. */
  def create(attempt: TaskAttempt): RowFile = {
    val (epoch, token) = (attempt.epoch.filter(_.isLetterOrDigit), UUID.randomUUID().toString.take(8))
    val name = s"$epoch-${attempt.partition}-${attempt.taskId}-$token"
    new RowFile(name, mine, mine.create(name))
  }

  def chunks(message: FileMessage): RowFileChunks = new RowFileChunks(mine, message)

  /** Removes the files of an epoch that is committed or will be retried, and files that late tasks of earlier epochs left. */
  def removeUpTo(epoch: Long): Unit = attempting(
    mine.names().filter(_.takeWhile(_.isDigit).toLongOption.exists(_ <= epoch)).foreach(mine.delete))

  /** Removes the files of other runs of the query: none of them can commit any more. */
  def removeOthers(): Unit = attempting(runs.names().filter(_ != run).foreach(removeRun))

  /** Removes all files of this run. */
  def removeAll(): Unit = attempting(removeRun(run))

  private def removeRun(name: String): Unit = {
    val files = runs.below(name)
    files.names().foreach(files.delete)
    runs.delete(name)
  }

  /** A later start removes files that cannot be removed now. */
  private def attempting(body: => Unit): Unit =
    try body
    catch {
      case NonFatal(error) =>
        RowFiles.log.warn("epochal: files of rows in {} could not be removed: {}", runs: Any, error.getMessage)
    }
}

private[epochal] object RowFiles {
  private val log = LoggerFactory.getLogger(classOf[RowFiles])

  /** The directory below the checkpoint, or below `spillDirectory`. */
  val Directory = "epochal-rows"
}

/** A file that a task writes. */
final private[epochal] class RowFile(val name: String, store: HadoopFileStore, out: FileOutput) {
  private val crc = new CRC32C
  private val length = ByteBuffer.allocate(4)

  def write(bytes: Array[Byte], count: Int): Unit = {
    length.putInt(0, count)
    out.write(length.array, 0, 4)
    out.write(bytes, 0, count)
    crc.update(bytes, 0, count)
  }

  /** Completes the file. Returns the checksum of the rows' bytes. */
  def finish(): Long = {
    out.close()
    crc.getValue
  }

  /** Deletes the file. */
  def cancel(): Unit =
    try {
      out.close()
      store.delete(name)
    } catch { case NonFatal(_) => () }
}

/** The rows of one attempt, read again from its file by each iterator, and checked against its message at the end. */
final private[epochal] class RowFileChunks(store: HadoopFileStore, message: FileMessage)
    extends Iterable[(Array[Byte], Int)]
    with AutoCloseable {

  private var open = Option.empty[FileInput]

  override def iterator: Iterator[(Array[Byte], Int)] = new Iterator[(Array[Byte], Int)] {
    private val crc = new CRC32C
    private val header = ByteBuffer.allocate(4)
    private lazy val in = reading(store.open(message.file))
    private var position = 0L
    private var bytes = 0L
    private var ended = false

    override def hasNext: Boolean = !ended && {
      open = Some(in)
      if (position == in.length) end()
      !ended
    }

    override def next(): (Array[Byte], Int) = reading {
      in.read(position, header.array, 0, 4)
      val length = header.getInt(0)
      if (length <= 0 || length > in.length - position - 4) throw corruption(s"a chunk of $length bytes at $position")
      val chunk = new Array[Byte](length)
      in.read(position + 4, chunk, 0, length)
      crc.update(chunk, 0, length)
      position += 4 + length
      bytes += length
      (chunk, length)
    }

    private def end(): Unit = {
      ended = true
      close()
      if (bytes != message.bytes || crc.getValue != message.crc)
        throw corruption(s"$bytes bytes with CRC32C ${crc.getValue}")
    }
  }

  override def close(): Unit = {
    open.foreach(_.close())
    open = None
  }

  private def reading[A](body: => A): A =
    try body
    catch {
      case missing: NoSuchFileException => throw fileLost(missing, "no such file")
      case error: IOException           => throw fileLost(error, String.valueOf(error.getMessage))
    }

  private def fileLost(error: IOException, reason: String) = Conditions.RowFileLost.because(error)(
    "partition" -> message.attempt.partition,
    "epoch" -> message.attempt.epoch,
    "file" -> message.file,
    "directory" -> store,
    "reason" -> reason)

  private def corruption(problem: String) = Conditions.CommitMessageCorrupted(
    "epoch" -> message.attempt.epoch,
    "partition" -> message.attempt.partition,
    "found" -> problem,
    "sent" -> s"${message.bytes} bytes with CRC32C ${message.crc}")

  override protected def className: String = "RowFileChunks"
}
