package io.epochal.jdbc.insert

import java.sql.{Connection, PreparedStatement, SQLException, Statement}

import scala.util.Using

import io.epochal.jdbc.database.{BoundTable, Operation}
import io.epochal.kit.database.Sql
import io.epochal.kit.sink.row.EncodedRows
import io.epochal.kit.spark.memory.{BinaryRow, Memory}

/** Inserts encoded rows ([[RowBytes]]), for databases without a bulk load.
  *
  * @param maxParameters
  *   maximum per statement
  */
final class InsertBatches(rules: ValueRules, quote: String => String, maxParameters: Int) {

  /** Many rows per statement. Returns the number of rows that the database reports as stored.
    *
    * @param into
    *   SQL of the table to insert into
    * @param begun
    *   called after each statement that stored rows
    * @param maxBytes
    *   limit on the encoded rows of one statement; a larger row gets a statement of its own
    * @param alone
    *   translates the failure of a single-row statement, given the row's size in bytes, where bytes that need an escape in the
    *   statement's text count twice
    */
  def multiRow(
      connection: Connection,
      into: String,
      table: BoundTable,
      rows: EncodedRows,
      batchSize: Int,
      begun: () => Unit = () => (),
      maxBytes: Long = Long.MaxValue,
      alone: (SQLException, Long) => SQLException = (error, _) => error): Long = {
    val source = new Source(table, rows, math.max(1, math.min(batchSize, maxParameters / table.incoming.size)))
    var storedRows = 0L
    var statement: PreparedStatement = null
    var size = 0
    // Of a lost connection the first error counts.
    Using.resource[AutoCloseable, Unit](() => if (statement != null) statement.close()) { _ =>
      var count = source.gather(maxBytes)
      while (count > 0) {
        if (count != size) {
          if (statement != null) statement.close()
          statement = connection.prepareStatement(sql(into, table, count))
          size = count
        }
        var row = 0
        while (row < count) {
          source.bind(statement, row)
          row += 1
        }
        storedRows +=
          (try Sql.execute(statement)
          catch { case error: SQLException if count == 1 => throw alone(error, source.escapedBytes) })
        begun()
        count = source.gather(maxBytes)
      }
    }
    storedRows
  }

  /** One row per statement, many statements per driver batch. Rows whose outcome the driver does not report
    * (`SUCCESS_NO_INFO`) count as stored.
    *
    * @param maxBytes
    *   encoded bytes with which a batch ends
    */
  def batches(
      connection: Connection,
      into: String,
      table: BoundTable,
      rows: EncodedRows,
      batchSize: Int,
      maxBytes: Long = Long.MaxValue): Long = {
    val source = new Source(table, rows, maxRows = 1)
    Using.resource(connection.prepareStatement(sql(into, table, 1))) { statement =>
      var storedRows = 0L
      var sentRows = 0L
      while (sentRows < rows.rows) {
        val most = math.min(batchSize.toLong, rows.rows - sentRows)
        var count = 0L
        var bytes = 0L
        while (count < most && bytes < maxBytes) {
          source.gather(Long.MaxValue): Unit
          source.bind(statement, 0)
          statement.addBatch()
          bytes += source.bytes
          count += 1
        }
        storedRows += statement.executeBatch().map(n => if (n == Statement.SUCCESS_NO_INFO) 1L else n.toLong).sum
        sentRows += count
      }
      // After its last chunk, a file's length and checksum are verified.
      val more = source.gather(Long.MaxValue)
      if (more != 0) throw new IllegalStateException(s"more rows than the ${rows.rows} in the messages")
      storedRows
    }
  }

  private def sql(into: String, table: BoundTable, rows: Int): String = {
    val row = (table.columns.map(rules.parameter) ++ table.operation.toSeq.flatMap(_.names.map(_ => "?")))
      .mkString("(", ",", ")")
    val names = table.incoming.map(quote).mkString(", ")
    s"INSERT INTO $into ($names) VALUES ${Iterator.fill(rows)(row).mkString(",")}"
  }

  /** Reads what [[RowBytes]] wrote, and binds the rows in order.
    *
    * @param maxRows
    *   that are gathered for one statement
    */
  final private class Source(table: BoundTable, rows: EncodedRows, maxRows: Int) {
    private val binders = table.columns.map(rules.binder(_, table.nulCharacter)).toArray
    private val ordinals = table.columns.map(_.ordinal).toArray
    private val identifies = table.columns.map(_.identifies).toArray
    private val operation = new Operation(table.operation, table.columns)
    private val width = table.incoming.size
    private val row = BinaryRow.empty(table.width)

    private val chunks = rows.chunks.iterator
    private var chunk = Array.emptyByteArray
    private var end = 0
    private var position = 0

    // Chunks and offsets of the gathered rows, and how many of them are bound.
    private val buffers = new Array[Array[Byte]](maxRows)
    private val places = new Array[Int](maxRows)
    private var bound = 0

    /** Gathers the next rows: at most `maxBytes` bytes, unless a single row exceeds that. Returns their number. */
    def gather(maxBytes: Long): Int = {
      var count = 0
      bound = 0
      var bytes = 0L
      var full = false
      while (!full && count < maxRows && advance()) {
        val length = lengthAt(chunk, position)
        bytes += length
        full = count > 0 && bytes > maxBytes
        if (!full) {
          buffers(count) = chunk
          places(count) = position
          count += 1
          position += 8 + length
        }
      }
      count
    }

    /** Moves to the row at `position`, if there is one. */
    private def advance(): Boolean = {
      while (position == end && chunks.hasNext) {
        val (bytes, length) = chunks.next()
        chunk = bytes
        end = length
        position = 0
      }
      position < end
    }

    private def lengthAt(bytes: Array[Byte], place: Int): Int =
      java.lang.Long.reverseBytes(Memory.getLong(bytes, Memory.ARRAY_START + place)).toInt

    /** Size of the last bound row in bytes. */
    def bytes: Int = lengthAt(buffers(bound - 1), places(bound - 1))

    /** The same, where bytes that MySQL's texts escape count twice. */
    def escapedBytes: Long = {
      val (bytes, place) = (buffers(bound - 1), places(bound - 1))
      val length = lengthAt(bytes, place)
      length.toLong + (place + 8 until place + 8 + length).count(i => Escaped(bytes(i)))
    }

    /** Binds the next gathered row. */
    def bind(statement: PreparedStatement, place: Int): Unit = {
      row.pointTo(buffers(bound), places(bound) + 8, lengthAt(buffers(bound), places(bound)))
      bound += 1
      val effect = operation.effect(row)
      val first = place * width + 1
      var i = 0
      while (i < binders.length) {
        if (row.isNullAt(ordinals(i)) || Operation.omits(effect, identifies(i))) statement.setObject(first + i, null)
        else binders(i).bind(statement, first + i, row, ordinals(i))
        i += 1
      }
      if (operation.width > 0) statement.setInt(first + i, if (Operation.deletes(effect)) 1 else 0)
      if (operation.width > 1) {
        statement.setString(first + i + 1, operation.version(row, effect).toString)
        val unchangedColumns = operation.unchangedColumns(row)
        statement.setString(first + i + 2, if (unchangedColumns == null) null else unchangedColumns.toString)
      }
    }
  }

  private val Escaped = Set[Byte]('\'', '"', '\\', 0, 0x1a)
}
