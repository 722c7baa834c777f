package io.epochal.testkit.connector

import java.sql.{Connection, DriverManager}
import java.util

import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{Column, SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Writes ids into the table `ids` of a SQLite file, and the last epoch of a query into the table `ledger`.
  *
  * Options: `path`; `together=false` commits the ledger after the rows over a separate connection, which is wrong.
  */
final class SqliteSink extends TableProvider {

  override def supportsExternalMetadata(): Boolean = true

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = new StructType()

  override def getTable(schema: StructType, by: Array[Transform], settings: util.Map[String, String]): Table =
    new Table with SupportsWrite {
      override def name(): String = "ids"
      override def columns(): Array[Column] = Array.empty
      override def schema(): StructType = new StructType()
      override def capabilities(): util.Set[TableCapability] =
        util.EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA)
      override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder {
        override def build(): Write = new Write {
          override def toStreaming: StreamingWrite = new SqliteWrite(
            SqliteSink.url(info.options().get("path")),
            info.queryId(),
            info.options().getBoolean("together", true))
        }
      }
    }
}

object SqliteSink {
  def url(path: String): String = s"jdbc:sqlite:$path?busy_timeout=20000"

  def create(path: String): Unit = Using.resource(DriverManager.getConnection(url(path))) { connection =>
    Using.resource(connection.createStatement()) { statement =>
      statement.execute("PRAGMA journal_mode=WAL")
      statement.execute("CREATE TABLE ids (id BIGINT NOT NULL)")
      val _ = statement.execute("CREATE TABLE ledger (query TEXT PRIMARY KEY, epoch BIGINT NOT NULL)")
    }
  }

  def ids(connection: Connection): Seq[Long] = Using.resource(connection.createStatement()) { statement =>
    val rows = statement.executeQuery("SELECT id FROM ids")
    Iterator.continually(rows).takeWhile(_.next()).map(_.getLong(1)).toVector
  }
}

final private class SqliteWrite(url: String, query: String, together: Boolean) extends StreamingWrite {

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = IdWriters

  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    Using.resource(DriverManager.getConnection(url)) { connection =>
      connection.setAutoCommit(false)
      last(connection) match {
        case Some((`query`, done)) if done >= epoch => ()
        case Some((other, _)) if other != query =>
          throw new IllegalStateException(s"The table belongs to the query $other, and not to $query.")
        case _ =>
          run(
            connection,
            messages.toSeq.collect { case Ids(all) => all }.flatten.map(n => s"INSERT INTO ids VALUES ($n)"))
          val ledger = Seq(s"INSERT OR REPLACE INTO ledger VALUES ('$query', $epoch)")
          if (together) run(connection, ledger)
          connection.commit()
          if (!together) Using.resource(DriverManager.getConnection(url))(run(_, ledger))
      }
    }

  private def run(connection: Connection, statements: Seq[String]): Unit =
    Using.resource(connection.createStatement()) { statement =>
      statements.foreach(statement.addBatch)
      val _ = statement.executeBatch()
    }

  private def last(connection: Connection): Option[(String, Long)] =
    Using.resource(connection.createStatement()) { statement =>
      val rows = statement.executeQuery("SELECT query, epoch FROM ledger")
      Option.when(rows.next())(rows.getString(1) -> rows.getLong(2))
    }

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()
}

final private case class Ids(all: Seq[Long]) extends WriterCommitMessage

private case object IdWriters extends StreamingDataWriterFactory {
  override def createWriter(partition: Int, task: Long, epoch: Long): DataWriter[InternalRow] =
    new DataWriter[InternalRow] {
      private val ids = ArrayBuffer.empty[Long]
      override def write(row: InternalRow): Unit = ids += row.getLong(0)
      override def commit(): WriterCommitMessage = Ids(ids.toVector)
      override def abort(): Unit = ()
      override def close(): Unit = ()
    }
}
