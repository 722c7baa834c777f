package io.epochal.jdbc.mysql

import java.lang.reflect.{InvocationHandler, Proxy}
import java.sql.{Connection, PreparedStatement}

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.ledger.Target
import io.epochal.jdbc.database.{BoundColumn, BoundTable, TargetColumn, TargetTable, WriteMode}
import io.epochal.jdbc.insert.InsertBatches
import io.epochal.kit.database.QualifiedName
import io.epochal.kit.sink.row.{ChunkedBytes, EncodedRows}
import io.epochal.kit.spark.memory.BinaryRow

/** How encoded rows are read for a load, without a server. */
final class LoadRowsSuite extends AnyFunSuite {

  private val schema = new StructType().add("word", StringType)
  private val bound = {
    val kind = MysqlType("longtext", "longtext", None, None, 0, 0, 0, "utf8mb4_bin")
    val column = TargetColumn("word", kind, nullable = true, filled = false, generated = false)
    val table = TargetTable(QualifiedName("d", "t"), Target("d.t", None), Seq(column), Nil)
    BoundTable(table, Seq(BoundColumn(schema.head, 0, column, required = false)), WriteMode.Append)
  }

  /** Rows of one text each. */
  private def encoded(count: Int, length: Int): EncodedRows = {
    val out = new ChunkedBytes(Long.MaxValue, () => fail())
    val encoder = MysqlDialect.rowFormat(bound).encoder(out)
    val binary = BinaryRow.converter(schema)
    (0 until count).foreach(_ => encoder.encode(binary(InternalRow(UTF8String.fromString("x" * length)))))
    val (chunks, lengths) = out.result()
    EncodedRows(count.toLong, 0, chunks.toSeq.zip(lengths))
  }

  private def proxy[A](kind: Class[A])(answer: String => Any): A = {
    val handler: InvocationHandler = (_, method, _) => answer(method.getName).asInstanceOf[AnyRef]
    kind.cast(Proxy.newProxyInstance(getClass.getClassLoader, Array[Class[_]](kind), handler))
  }

  /** The sizes of the driver's batches. */
  private def batches(rows: EncodedRows, batchSize: Int, maxBytes: Long): Seq[Int] = {
    val sizes = ArrayBuffer.empty[Int]
    var waiting = 0
    val statement = proxy(classOf[PreparedStatement]) {
      case "addBatch" =>
        waiting += 1
        null
      case "executeBatch" =>
        sizes += waiting
        waiting = 0
        Array.fill(sizes.last)(1)
      case _ => null
    }
    val connection = proxy(classOf[Connection])(_ => statement)
    val inserts = new InsertBatches(MysqlRules, MysqlDialect.quote, 1000)
    assert(inserts.batches(connection, "t", bound, rows, batchSize, maxBytes) == rows.rows)
    sizes.toSeq
  }

  test("a batch ends at its number of rows, and at its bytes") {
    assert(batches(encoded(250, 10), 100, 1 << 20) == Seq(100, 100, 50))
    assert(batches(encoded(10, 1000), 100, 3000) == Seq(3, 3, 3, 1))
    assert(batches(encoded(3, 5000), 100, 3000) == Seq(1, 1, 1))
  }

  test("a fatal error in the rows ends the lines, and is thrown after the exchange with the server") {
    val fatal = new NoClassDefFoundError("gone")
    val broken = new Iterable[(Array[Byte], Int)] {
      override def iterator = encoded(3, 10).chunks.iterator ++ Iterator.continually(throw fatal)
    }
    val lines = new LoadLines(bound, EncodedRows(4, 0, broken))
    assert(lines.read(new Array[Byte](100), 0, 100) == -1)
    assert(intercept[NoClassDefFoundError](lines.check()) eq fatal)
  }
}
