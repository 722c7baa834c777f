package io.epochal.testkit.engine

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, StandardCopyOption}
import java.util
import java.util.UUID

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.testkit.report.Evidence

/** Sink that records deliveries: a file per delivery of an epoch, with a line per row.
  *
  * Option `directory`: the directory of the files, which exists. [[Deliveries]] reads them.
  */
final class RecordingSink extends TableProvider {

  override def supportsExternalMetadata(): Boolean = true

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = new StructType()

  override def getTable(schema: StructType, by: Array[Transform], properties: util.Map[String, String]): Table =
    new Table with SupportsWrite {
      override def name(): String = "recording"
      override def schema(): StructType = new StructType()
      override def capabilities(): util.Set[TableCapability] =
        util.EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA)
      override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
        new WriteBuilder with SupportsStreamingUpdateAsAppend {
          override def build(): Write = new Write {
            override def toStreaming: StreamingWrite =
              new RecordingWrite(info.schema(), Path.of(info.options().get("directory")))
          }
        }
    }
}

final private class RecordingWrite(schema: StructType, directory: Path) extends StreamingWrite {

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = {
    // Serialized to the tasks, without this object.
    val (columns, scene) = (schema, directory.getParent.toString)
    (_, _, epoch) => new RecordingWriter(columns, scene, epoch)
  }

  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = {
    val scene = directory.getParent.toString
    Steps.at(scene, KillStep.BeforeSinkCommit, epoch)
    val lines = messages.toSeq.collect { case RowTexts(rows) => rows }.flatten
    val partial = Files.createTempFile(directory, "", ".tmp")
    Files.write(partial, String.join("\n", lines: _*).getBytes(UTF_8))
    val order = "%019d".formatLocal(util.Locale.ROOT, System.currentTimeMillis())
    val name = s"$order@$epoch@${UUID.randomUUID()}"
    val _ = Files.move(partial, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE)
  }

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()
}

final private case class RowTexts(rows: Seq[String]) extends WriterCommitMessage

final private class RecordingWriter(schema: StructType, scene: String, epoch: Long) extends DataWriter[InternalRow] {
  private val rows = ArrayBuffer.empty[String]

  override def write(row: InternalRow): Unit = {
    // A line break would split the row.
    rows += row.copy().toSeq(schema).mkString("|").replace("\\", "\\\\").replace("\n", "\\n")
    Steps.at(scene, KillStep.InTasks, epoch)
  }

  override def commit(): WriterCommitMessage = RowTexts(rows.toVector)
  override def abort(): Unit = ()
  override def close(): Unit = ()
}

/** Deliveries to a [[RecordingSink]], oldest first. An epoch may have been delivered more than once. */
final private[testkit] class Deliveries(directory: Path) {

  def all: Seq[(Long, Seq[String])] =
    Using.resource(Files.list(directory))(_.iterator.asScala.toVector.sorted).flatMap { file =>
      Option(file.getFileName.toString.split('@')).collect { case Array(_, epoch, _) =>
        epoch.toLong -> Files.readAllLines(file).asScala.filter(_.nonEmpty).toVector
      }
    }

  /** Rows of the last delivery of each epoch. */
  def rows: Seq[String] = all.toMap.values.flatten.toSeq

  /** Number of distinct rows, with each epoch counted once. */
  def distinctRows: Int = rows.distinct.size

  /** Asserts that every replay of an epoch delivered the same rows as its first delivery. */
  def sameWhenReplayed(): Unit =
    for ((epoch, first +: replays) <- all.groupMap(_._1)(_._2).toSeq.sortBy(_._1); again <- replays)
      Evidence.sameRows(s"epoch $epoch, delivered again, had other rows when it was replayed", again, first)

  /** Asserts that the epochs together delivered `count` rows, each once. */
  def onceEach(what: String, count: Long): Unit = Evidence.onceEach(what, rows, count)
}
