package io.epochal.ingest.intake

import java.io.{EOFException, IOException}
import java.nio.file.NoSuchFileException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import io.epochal.core.journal.{FileInput, FileOutput, FileStore}

/** Files in memory whose syncs can be held, counted, or made to fail. */
final class SlowStore extends FileStore {
  private val files = new ConcurrentHashMap[String, Array[Byte]]
  private val counted = new AtomicInteger
  private val held = new AtomicInteger

  @volatile var beforeSync: () => Unit = () => ()
  @volatile var fails = false

  def syncs: Int = counted.get

  /** Number of threads that wait in a sync. */
  def waiting: Int = held.get

  override def syncsOpenFiles: Boolean = true

  override def create(name: String): FileOutput = {
    files.put(name, Array.emptyByteArray): Unit
    new FileOutput {
      override def write(bytes: Array[Byte], from: Int, length: Int): Unit =
        files.computeIfPresent(name, (_, before) => before ++ bytes.slice(from, from + length)): Unit
      override def sync(): Unit = {
        held.incrementAndGet(): Unit
        try beforeSync()
        finally held.decrementAndGet(): Unit
        if (fails) throw new IOException("Input/output error")
        counted.incrementAndGet(): Unit
      }
      override def close(): Unit = ()
    }
  }

  override def open(name: String): FileInput = {
    val content = Option(files.get(name)).getOrElse(throw new NoSuchFileException(name))
    new FileInput {
      override def length: Long = content.length.toLong
      override def read(position: Long, into: Array[Byte], from: Int, length: Int): Unit =
        if (position + length > content.length) throw new EOFException(s"${content.length} bytes")
        else System.arraycopy(content, position.toInt, into, from, length)
      override def close(): Unit = ()
    }
  }

  override def exists(name: String): Boolean = files.containsKey(name)

  override def names(): Seq[String] = files.keySet.asScala.toSeq

  override def delete(name: String): Unit = files.remove(name): Unit
}
