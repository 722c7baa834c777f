package io.epochal.jdbc

import java.nio.ByteBuffer
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.kit.sink.transport.{FileMessage, InlineMessage}
import io.epochal.testkit.Epoch

final class SqliteRowFilesSuite extends RowFilesChecks(Sqlite)
@Slow
final class MariadbRowFilesSuite extends RowFilesChecks(Mariadb)
@Slow
final class Mysql8RowFilesSuite extends RowFilesChecks(Mysql8)
@Slow
final class H2RowFilesSuite extends RowFilesChecks(InProcess.H2)

/** Epochs that exceed what messages may hold, on databases without staging. */
abstract class RowFilesChecks(databases: TestDatabases) extends SinkSuite(databases) {

  private val small = Map("sinkId" -> "sink", "inlineMaxBytes" -> "2k")

  private def files(f: JdbcSinkFixture): Seq[Path] = {
    val root = f.checkpoint.resolve("epochal-rows")
    if (Files.exists(root)) Using.resource(Files.walk(root))(_.iterator.asScala.filter(Files.isRegularFile(_)).toVector)
    else Nil
  }

  private def task(f: JdbcSinkFixture, run: JdbcRun, epoch: Long, rows: Range): (Epoch, FileMessage) = {
    f.logOffsets(epoch, s"""{"epoch":$epoch,"offsets":"same"}""")
    val now = new Epoch(epoch, run.newWrite(), 1)
    (now, now.task(0, 0, numbers(f, rows)).asInstanceOf[FileMessage])
  }

  on("tasks with more rows than their share write files, which are gone after the epoch", table) { f =>
    val run = f.newRun(query, small)
    write(f, run, 0, numbers(f, 0 until 10))
    assert(run.metrics("transport") == "inline" && files(f).isEmpty)
    f.logOffsets(1, """{"epoch":1,"offsets":"same"}""")
    val epoch = new Epoch(1, run.newWrite(), 2)
    val messages = Seq(epoch.task(0, 0, numbers(f, 10 until 5000)), epoch.task(1, 1, numbers(f, 5000 until 5005)))
    assert(messages(0).isInstanceOf[FileMessage] && messages(1).isInstanceOf[InlineMessage])
    assert(files(f).size == 1)
    epoch.commit(messages)
    assert(run.metrics("transport") == "inline+files")
    assert(run.metrics("transportReason").startsWith("1 of 2 tasks exceeded their share"))
    assert(files(f).isEmpty)
    holds(f, 0 until 5005)
    assert(f.database.query("SELECT word FROM t ORDER BY id").map(_.head) == (0 until 5005).map(n => s"row $n"))
  }

  on("a retried load reads the files again", table) { f =>
    val run = f.newRun(query, small)
    val (epoch, message) = task(f, run, 0, 0 until 2000)
    Failpoints.arm("rows.loaded=disconnect@1")
    epoch.commit(Seq(message))
    holds(f, 0 until 2000)
  }

  on("files of an epoch that failed, and of a run that died, are removed", table) { f =>
    val dead = f.newRun(query, small)
    val (failed, message) = task(f, dead, 0, 0 until 2000)
    failed.write.abort(0, Array(message))
    assert(files(f).isEmpty)
    task(f, dead, 0, 0 until 2000): Unit
    assert(files(f).size == 1)
    val successor = f.newRun(query, small)
    write(f, successor, 0, numbers(f, 0 until 2000))
    assert(files(f).isEmpty)
    holds(f, 0 until 2000)
  }

  on(
    "a file that was altered, or that the driver does not see, fails its epoch by name, and none of its rows are kept",
    table) { f =>
    val run = f.newRun(query, small)
    val (changed, first) = task(f, run, 0, 0 until 2000)
    val file = files(f).head
    val whole = Files.readAllBytes(file)
    val bytes = whole.clone()
    bytes(bytes.length - 20) = (bytes(bytes.length - 20) + 1).toByte
    Files.write(file, bytes)
    refused(Conditions.CommitMessageCorrupted)(changed.commit(Seq(first)))
    Files.write(file, bytes.take(bytes.length - 100))
    refused(Conditions.CommitMessageCorrupted)(changed.commit(Seq(first)))
    // A whole chunk more than the task wrote.
    Files.write(file, whole ++ whole.take(4 + ByteBuffer.wrap(whole).getInt(0)))
    refused(Conditions.CommitMessageCorrupted)(changed.commit(Seq(first)))
    Files.delete(file)
    refused(Conditions.RowFileLost)(changed.commit(Seq(first)))
    holds(f, 0 until 0)
  }

  on(
    "two sinks of one query id, as in a copied checkpoint, leave each other's files alone",
    table,
    "CREATE TABLE u (id BIGINT NOT NULL, word TEXT)") { f =>
    val (epoch, message) = task(f, f.newRun(query, small), 0, 0 until 2000)
    f.newRun(query, small ++ Map("sinkId" -> "other", "dbtable" -> "u"))
      .newWrite()
      .createStreamingWriterFactory(() => 1)
    epoch.commit(Seq(message))
    holds(f, 0 until 2000)
  }

  on("with spillDirectory the files are in that directory, for a batch too", table) { f =>
    val directory = Files.createTempDirectory("epochal-spill")
    try {
      val spilling = Map("inlineMaxBytes" -> "2k", "spillDirectory" -> directory.toString)
      write(f, f.newRun(query, spilling + ("sinkId" -> "sink")), 0, numbers(f, 0 until 2000))
      val batch = f.newRun(query, spilling).newBatchWrite()
      val factory = batch.createBatchWriterFactory(() => 1)
      val writer = factory.createWriter(0, 0)
      numbers(f, 2000 until 4000).foreach(writer.write)
      val message = writer.commit()
      assert(message.isInstanceOf[FileMessage])
      batch.commit(Array(message))
      writer.close()
      assert(files(f).isEmpty)
      val left = Using.resource(Files.walk(directory))(_.iterator.asScala.filter(Files.isRegularFile(_)).toVector)
      assert(left.isEmpty)
      holds(f, 0 until 4000)
    } finally org.apache.commons.io.FileUtils.deleteDirectory(directory.toFile)
  }
}
