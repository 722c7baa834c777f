package io.epochal.jdbc.insert

import java.sql.{Connection, PreparedStatement, SQLException, Statement}

import scala.util.Using

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Operation}
import io.epochal.jdbc.row.NulCharacter
import io.epochal.jdbc.sql.Sql
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes, EncodedRows, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.{BinaryRow, Memory}

/** Spark's own row bytes: `int64 length, bytes`, one after the other; a row lies in one chunk.
  *
  * The driver binds them to statements ([[InsertBatches]]). Bad values are found in the task, where the row is known.
  *
  * @param operation
  *   place in the query's rows of what says what a row does; of a row that deletes only what finds and orders it counts
  */
final case class RowBytes(columns: Seq[BoundColumn], operation: Option[Int], nul: NulCharacter, rules: ValueRules)
    extends RowFormat {
  override def encoder(out: ChunkedBytes): RowEncoder =
    new RowBytesEncoder(columns.map(new ColumnCheck(_, nul, rules)).toArray, operation.getOrElse(-1), out)
}

object RowBytes {
  def apply(table: BoundTable, rules: ValueRules): RowBytes =
    RowBytes(table.columns, table.operation.map(_.ordinal), table.nulCharacter, rules)
}

final private class RowBytesEncoder(checks: Array[ColumnCheck], operation: Int, out: ChunkedBytes) extends RowEncoder {
  override def encode(row: BinaryRow): Unit = {
    val deletes = operation >= 0 && Operation.deletes(row, operation)
    var i = 0
    while (i < checks.length) {
      if (!deletes || checks(i).identifies) checks(i)(row)
      i += 1
    }
    val length = row.sizeInBytes
    out.reserve(8 + length)
    out.putLong(length.toLong)
    out.putBytes(row.base, row.origin, length)
  }
}

final private class ColumnCheck(bound: BoundColumn, nul: NulCharacter, rules: ValueRules) {
  private val ordinal = bound.ordinal
  val identifies: Boolean = bound.identifies
  private val check = rules.check(bound, nul).orNull

  def apply(row: BinaryRow): Unit =
    if (row.isNullAt(ordinal)) {
      if (bound.required) throw new BadValue(ordinal, BadValue.Missing)
    } else if (check != null) {
      val problem = check.problem(row, ordinal)
      if (problem != null) throw new BadValue(ordinal, problem)
    }
}

/** Reads what [[RowBytes]] wrote: `row` points at one row after the other, of those that were gathered. */
final private[insert] class RowBytesReader(rows: EncodedRows, columns: Int) {
  private val chunks = rows.chunks.iterator
  private var chunk = Array.emptyByteArray
  private var end = 0
  private var position = 0

  // Rows that were gathered: the chunks they lie in, and where.
  private var held = new Array[Array[Byte]](16)
  private var places = new Array[Int](16)
  private var count = 0
  private var bound = 0
  val row: BinaryRow = BinaryRow.empty(columns)

  /** Finds the rows that follow: no more than `most`, and no more bytes than `maxBytes` unless it is one row. */
  def gather(most: Int, maxBytes: Long): Int = {
    count = 0
    bound = 0
    var bytes = 0L
    var full = false
    while (!full && count < most && advance()) {
      val length = lengthAt(chunk, position)
      bytes += length
      full = count > 0 && bytes > maxBytes
      if (!full) {
        hold()
        position += 8 + length
      }
    }
    count
  }

  /** Points `row` at the next of them. */
  def next(): Unit = {
    val (bytes, place) = (held(bound), places(bound))
    row.pointTo(bytes, place + 8, lengthAt(bytes, place))
    bound += 1
  }

  /** Bytes of `row`, twice those that MySQL's texts escape. */
  def escapedBytes: Long = {
    val (bytes, place) = (held(bound - 1), places(bound - 1))
    val length = lengthAt(bytes, place)
    length.toLong + (place + 8 until place + 8 + length).count(i => Escaped(bytes(i)))
  }

  private val Escaped = Set[Byte]('\'', '"', '\\', 0, 0x1a)

  private def hold(): Unit = {
    if (count == held.length) {
      held = java.util.Arrays.copyOf(held, count * 2)
      places = java.util.Arrays.copyOf(places, count * 2)
    }
    held(count) = chunk
    places(count) = position
    count += 1
  }

  /** Whether there is a row where `position` is. */
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
}

/** INSERTs of encoded rows ([[RowBytes]]), for databases without a bulk load.
  *
  * @param maxParameters
  *   that one statement may have
  */
final class InsertBatches(rules: ValueRules, quote: String => String, maxParameters: Int) {

  /** Many rows in each statement. Gives how many the database says it stored.
    *
    * @param into
    *   SQL of the table that takes them
    * @param begun
    *   told after each statement that rows are stored
    * @param maxBytes
    *   of the rows of one statement, as encoded; a row that is larger has a statement of its own
    * @param alone
    *   what the failure of a statement with a single row means, and how many bytes that row has, those counted twice that
    *   are escaped in a statement's text
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
    val source = new Source(table, rows)
    val most = math.max(1, math.min(batchSize, maxParameters / table.incoming.size))
    var stored = 0L
    var statement: PreparedStatement = null
    var size = 0
    try {
      var count = source.gather(most, maxBytes)
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
        stored +=
          (try Sql.execute(statement)
          catch { case error: SQLException if count == 1 => throw alone(error, source.escapedBytes) })
        begun()
        count = source.gather(most, maxBytes)
      }
    } finally if (statement != null) statement.close()
    stored
  }

  /** One row in each statement, many statements in a batch of the driver. Rows of which the driver does not tell whether they
    * were stored (`SUCCESS_NO_INFO`) count as stored.
    */
  def batches(connection: Connection, into: String, table: BoundTable, rows: EncodedRows, batchSize: Int): Long = {
    val source = new Source(table, rows)
    Using.resource(connection.prepareStatement(sql(into, table, 1))) { statement =>
      var stored = 0L
      var done = 0L
      while (done < rows.rows) {
        val count = math.min(batchSize.toLong, rows.rows - done)
        var row = 0L
        while (row < count) {
          source.gather(1, Long.MaxValue): Unit
          source.bind(statement, 0)
          statement.addBatch()
          row += 1
        }
        stored += statement.executeBatch().map(n => if (n == Statement.SUCCESS_NO_INFO) 1L else n.toLong).sum
        done += count
      }
      // A file's length and checksum are compared where its last chunk has been taken.
      val more = source.gather(1, Long.MaxValue)
      if (more != 0) throw new IllegalStateException(s"more rows than the ${rows.rows} that the messages tell of")
      stored
    }
  }

  private def sql(into: String, table: BoundTable, rows: Int): String = {
    val row = table.incoming.map(_ => "?").mkString("(", ",", ")")
    val names = table.incoming.map(quote).mkString(", ")
    s"INSERT INTO $into ($names) VALUES ${Iterator.fill(rows)(row).mkString(",")}"
  }

  /** Binds one row after the other. */
  final private class Source(table: BoundTable, rows: EncodedRows) {
    private val reader = new RowBytesReader(rows, table.columns.size + table.operation.size)
    private val binders = table.columns.map(rules.binder(_, table.nulCharacter)).toArray
    private val ordinals = table.columns.map(_.ordinal).toArray
    private val identifies = table.columns.map(_.identifies).toArray
    private val operation = table.operation.fold(-1)(_.ordinal)
    private val width = table.incoming.size

    /** How many of the next rows go together: at least one, where there is one. */
    def gather(most: Int, maxBytes: Long): Int = reader.gather(most, maxBytes)

    def escapedBytes: Long = reader.escapedBytes

    /** Binds the next of those. */
    def bind(statement: PreparedStatement, place: Int): Unit = {
      reader.next()
      val deletes = operation >= 0 && Operation.deletes(reader.row, operation)
      val first = place * width + 1
      var i = 0
      while (i < binders.length) {
        if (reader.row.isNullAt(ordinals(i)) || deletes && !identifies(i)) statement.setObject(first + i, null)
        else binders(i).bind(statement, first + i, reader.row, ordinals(i))
        i += 1
      }
      if (operation >= 0) statement.setInt(first + i, if (deletes) 1 else 0)
    }
  }
}
