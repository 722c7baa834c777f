package io.epochal.jdbc

import scala.util.{Random, Using}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.jdbc.database.ConnectionPool
import io.epochal.jdbc.mysql.MysqlDialect
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.table.TableCheck
import io.epochal.kit.sink.row.{ChunkedBytes, EncodedRows}
import io.epochal.kit.spark.memory.BinaryRow

@Slow
final class MariadbLoadSuite extends MysqlLoads(Mariadb)
@Slow
final class Mysql8LoadSuite extends MysqlLoads(Mysql8)
@Slow
final class Mysql8ByMariadbLoadSuite extends MysqlLoads(Mysql8ByMariadb)

/** Epochs that LOAD DATA LOCAL stores: the same rows as INSERTs, and none that these would refuse. */
abstract class MysqlLoads(databases: TestDatabases) extends SinkSuite(databases) {

  private val Off = Map("connection.allowLocalInfile" -> "false", "connection.allowLoadLocalInfile" -> "false")

  /** The way without LOAD DATA. */
  private val otherwise = if (databases == Mariadb) "bulk INSERT" else "INSERT"
  private val keyed = "CREATE TABLE t (id BIGINT PRIMARY KEY, word VARCHAR(20))"

  private def loading(f: JdbcSinkFixture, on: Boolean = true): Unit =
    f.database.execute(s"SET GLOBAL local_infile = ${if (on) "ON" else "OFF"}")

  private def start(f: JdbcSinkFixture, more: (String, String)*): JdbcRun =
    f.newRun(query, Map("sinkId" -> "sink") ++ more)

  private val every = new StructType()
    .add("id", LongType)
    .add("a", BooleanType)
    .add("b", ByteType)
    .add("c", ShortType)
    .add("d", IntegerType)
    .add("e", FloatType)
    .add("f", DoubleType)
    .add("g", DecimalType(38, 18))
    .add("h", DecimalType(9, 2))
    .add("i", StringType)
    .add("j", StringType)
    .add("k", StringType)
    .add("l", BinaryType)
    .add("m", BinaryType)
    .add("n", DateType)
    .add("o", TimestampType)
    .add("p", TimestampNTZType)
    .add("q", BooleanType)
    .add("r", StringType)
    .add("s", FloatType)

  private def columns(name: String): String =
    s"""CREATE TABLE $name (id BIGINT, a BOOLEAN, b TINYINT, c SMALLINT, d INT, e FLOAT, f DOUBLE, g DECIMAL(38,18), h DECIMAL(9,2),
       |i LONGTEXT CHARACTER SET utf8mb4, j VARCHAR(40) CHARACTER SET latin1, k JSON, l LONGBLOB, m BINARY(3), n DATE,
       |o TIMESTAMP(6) NULL, p DATETIME(6), q BIT(1), r VARCHAR(40) CHARACTER SET ucs2, s DOUBLE)""".stripMargin

  /** Characters that the lines of LOAD DATA, SQL, charsets and JSON treat specially. */
  private val Odd =
    Seq(
      "\t",
      "\n",
      "\\",
      "\\N",
      "\\n",
      "\r",
      "\r\n",
      "'",
      "\"",
      "`",
      "%",
      "\u0001",
      "\u001a",
      ";",
      ",",
      "a",
      "N",
      "") ++
      Seq("é", "ß")
  private val Far = Odd ++ Seq("日本語", "🙂", "\u2028", "ﬀ")

  private def text(random: Random, pieces: Seq[String], most: Int): UTF8String =
    UTF8String.fromString(Seq.fill(random.nextInt(most))(pieces(random.nextInt(pieces.size))).mkString)

  private def value(random: Random, name: String): Any = name match {
    case "a" | "q" => random.nextBoolean()
    case "b"       => random.nextInt().toByte
    case "c"       => random.nextInt().toShort
    case "d"       => random.nextInt()
    case "e" | "s" => Iterator.continually(java.lang.Float.intBitsToFloat(random.nextInt())).find(_.isFinite).get
    case "f"       => Iterator.continually(java.lang.Double.longBitsToDouble(random.nextLong())).find(_.isFinite).get
    case "g"       => Decimal(BigDecimal(BigInt(110, random.self), 18) * (if (random.nextBoolean()) 1 else -1), 38, 18)
    case "h"       => Decimal(BigDecimal(random.nextInt(999999999).toLong, 2), 9, 2)
    case "i"       => text(random, Far, 12)
    case "j"       => text(random, Odd, 12)
    case "k"       => UTF8String.fromString(s"""{"a": "${random.nextInt()}\\\\n\\"日🙂"}""")
    case "l"       => random.nextBytes(random.nextInt(40))
    case "m"       => random.nextBytes(3)
    case "n"       => random.between(-700000, 2900000)
    case "o"       => random.between(1000000L, 2147483647000000L)
    case "p"       => random.between(-62135596800000000L, 253402300799999999L)
    case "r"       => text(random, Odd :+ "日", 12)
  }

  private def rows(count: Int): Seq[InternalRow] = {
    val random = new Random(count)
    (0 until count).map { id =>
      InternalRow.fromSeq(id.toLong +: every.fieldNames.toSeq.tail.map { name =>
        if (random.nextInt(8) == 0) null else value(random, name)
      })
    }
  }

  onSchema("LOAD DATA and INSERTs store the same rows", every, columns("t"), columns("u")) { f =>
    loading(f)
    val many = rows(1500) :+ InternalRow.fromSeq(Seq[Any](5000L) ++ Seq.fill[Any](every.size - 2)(null) :+ 0.1f)
    val loads = start(f)
    write(f, loads, 0, many)
    assert(loads.metrics("load") == "LOAD DATA LOCAL", loads.metrics)
    val inserts = f.newRun(otherQuery, Map("sinkId" -> "other", "dbtable" -> "u") ++ Off)
    write(f, inserts, 0, many)
    assert(inserts.metrics("load") == otherwise)
    def stored(table: String): Seq[Seq[Any]] = f.database.query(
      s"SELECT ${every.fieldNames.map(name => s"HEX(CAST(${if (name == "q") "q + 0" else name} AS BINARY))").mkString(", ")} FROM $table ORDER BY id")
    assert(stored("t").size == 1501)
    assert(f.database.query("SELECT t.s, u.s FROM t JOIN u USING (id) WHERE id = 5000") == Seq(Seq(0.1, 0.1)))
    stored("t").zip(stored("u")).foreach { case (one, other) => assert(one == other) }
  }

  Seq("error", "strip", "replace").foreach { nul =>
    on(s"nulCharacter=$nul is the same for both", table, "CREATE TABLE u (id BIGINT NOT NULL, word TEXT)") { f =>
      loading(f)
      val some =
        (0 until 300).map(n => InternalRow(n.toLong, UTF8String.fromString(if (nul == "error") "a" else "a\u0000\tb")))
      write(f, start(f, "nulCharacter" -> nul), 0, some)
      write(f, f.newRun(otherQuery, Map("sinkId" -> "o", "dbtable" -> "u", "nulCharacter" -> nul) ++ Off), 0, some)
      def words(table: String): Any = f.database.query(s"SELECT DISTINCT HEX(word) FROM $table")
      assert(words("t") == words("u"))
    }
  }

  on("an epoch with a key that exists stores nothing, and fails by the key's name", keyed) { f =>
    loading(f)
    val run = start(f)
    write(f, run, 0, numbers(f, 0 until 300))
    val error = refused(Conditions.DatabaseError)(write(f, run, 1, numbers(f, 299 until 700)))
    assert(error.getMessage.contains("299"))
    holds(f, 0 until 300)
    write(f, run, 1, numbers(f, 300 until 700))
    assert(run.metrics("load") == "LOAD DATA LOCAL")
    holds(f, 0 until 700)
  }

  Seq(
    "outside its column's character set" -> "CREATE TABLE t (id BIGINT, word VARCHAR(20) CHARACTER SET latin1)",
    "that a CHECK refuses" -> "CREATE TABLE t (id BIGINT, word VARCHAR(20), CONSTRAINT few CHECK (word <> '日本'))",
    "that a trigger refuses" -> "CREATE TABLE t (id BIGINT, word VARCHAR(20))"
  ).foreach { case (what, ddl) =>
    on(s"an epoch with a value $what stores nothing", ddl) { f =>
      loading(f)
      if (what.contains("trigger"))
        f.database.execute(
          "CREATE TRIGGER refuse BEFORE INSERT ON t FOR EACH ROW BEGIN IF NEW.word = '日本' THEN SIGNAL SQLSTATE '45000'; END IF; END")
      // MySQL has CHECK constraints since 8.0.16.
      if (!what.contains("CHECK") || databases == Mariadb) {
        val bad = InternalRow(7L, UTF8String.fromString("日本"))
        val condition = if (what.contains("character set")) Conditions.BadRow else Conditions.DatabaseError
        refused(condition)(write(f, start(f), 0, numbers(f, 0 until 300) :+ bad))
        holds(f, 0 until 0)
      }
    }
  }

  on(
    "rows that warn but fit are stored by INSERTs, from then on by these alone, and the reason is named",
    "CREATE TABLE t (id BIGINT, word VARCHAR(20), third DECIMAL(9,1) AS (id / 3) STORED)") { f =>
    loading(f)
    val run = start(f)
    write(f, run, 0, numbers(f, 0 until 300))
    val reason = run.metrics("loadReason")
    assert(run.metrics("load") == otherwise && reason.matches("LOAD DATA gave [0-9]+ warnings, the first 1265"), reason)
    write(f, run, 1, numbers(f, 300 until 600))
    assert(run.metrics("load") == otherwise && run.metrics("loadReason") == s"in an earlier epoch, $reason")
    holds(f, 0 until 600)
  }

  private val numbered =
    "CREATE TABLE t (id BIGINT PRIMARY KEY, word VARCHAR(20), n BIGINT NOT NULL AUTO_INCREMENT, KEY (n))"

  on("a table with an AUTO_INCREMENT column gets LOAD DATA only where that locks out no other writer", numbered) { f =>
    loading(f)
    val run = start(f)
    write(f, run, 0, numbers(f, 0 until 300))
    holds(f, 0 until 300)
    if (f.database.one("SELECT @@innodb_autoinc_lock_mode").toString == "2")
      assert(run.metrics("load") == "LOAD DATA LOCAL")
    else
      assert(
        run.metrics("load") == otherwise && run.metrics("loadReason").contains("innodb_autoinc_lock_mode is not 2"))
  }

  on("an upsert takes no numbers of an AUTO_INCREMENT column for rows that exist", numbered) { f =>
    loading(f)
    val run = start(f, "keyColumns" -> "id")
    (0L until 4L).foreach(write(f, run, _, numbers(f, 0 until 300)))
    assert(run.metrics("load") == "LOAD DATA LOCAL")
    write(f, run, 4, numbers(f, 0 until 301))
    holds(f, 0 until 301)
    // A server reserves numbers for an INSERT ... SELECT in powers of two.
    assert(f.database.query("SELECT n FROM t WHERE n > 600").isEmpty)
  }

  on("the reason for INSERTs is named: few rows, the server's setting, the user's setting", table) { f =>
    loading(f, on = false)
    try {
      val run = start(f)
      write(f, run, 0, numbers(f, 0 until 10))
      assert(run.metrics("load") == "INSERT" && run.metrics("loadReason") == "fewer than 200 rows")
      write(f, run, 1, numbers(f, 10 until 310))
      assert(run.metrics("load") == otherwise && run.metrics("loadReason") == "local_infile is OFF on the server")
    } finally loading(f)
    val restricted = start(f, Off.toSeq: _*)
    write(f, restricted, 2, numbers(f, 310 until 610))
    assert(restricted.metrics("load") == otherwise && restricted.metrics("loadReason").nonEmpty, restricted.metrics)
    holds(f, 0 until 610)
  }

  on("where the server stops allowing LOAD DATA, INSERTs follow", table) { f =>
    loading(f)
    val run = start(f)
    write(f, run, 0, numbers(f, 0 until 300))
    assert(run.metrics("load") == "LOAD DATA LOCAL")
    loading(f, on = false)
    try write(f, run, 1, numbers(f, 300 until 600))
    finally loading(f)
    assert(run.metrics("load") == otherwise && run.metrics("loadReason").startsWith("LOAD DATA gave error"))
    holds(f, 0 until 600)
  }

  on("the server's variables are asked once for a connection, not in each epoch", table) { f =>
    loading(f)
    val run = start(f)
    def asked: Long = f.database.query("SHOW GLOBAL STATUS LIKE 'Com_show_variables'").head(1).toString.toLong
    write(f, run, 0, numbers(f, 0 until 300))
    val before = asked
    (1 to 5).foreach(n => write(f, run, n.toLong, numbers(f, n * 300 until (n + 1) * 300)))
    // Each epoch asks for the server's identity.
    assert(asked - before <= 5)
    holds(f, 0 until 1800)
  }

  on("an upsert loads its rows the same way, also with keys that occur twice", keyed) { f =>
    loading(f)
    val run = start(f, "keyColumns" -> "id")
    write(f, run, 0, numbers(f, 0 until 500))
    assert(run.metrics("load") == "LOAD DATA LOCAL")
    refused(Conditions.DuplicateKeys)(write(f, run, 1, numbers(f, 0 until 400) ++ numbers(f, 0 until 1)))
    write(f, run, 1, numbers(f, 250 until 750))
    holds(f, 0 until 750)
  }

  Seq(
    "the only unique index" -> "",
    "not the only unique index" -> ", UNIQUE (word)",
    "not the only unique index, which has a part of a column" -> ", UNIQUE (word(10))").foreach { case (what, more) =>
    on(
      s"an upsert replaces, adds and keeps rows where its key is $what",
      s"CREATE TABLE t (id BIGINT PRIMARY KEY, word VARCHAR(20)$more)") { f =>
      loading(f)
      val run = start(f, "keyColumns" -> "id")
      def word(id: Int, text: String): InternalRow = InternalRow(id.toLong, UTF8String.fromString(text))
      write(f, run, 0, (0 until 300).map(id => word(id, s"old $id")))
      write(f, run, 1, (0 until 600).map(id => word(id, if (id % 2 == 0) s"new $id" else s"old $id")))
      val stored = f.database.query("SELECT id, word FROM t ORDER BY id").map(_.mkString(" "))
      assert(stored == (0 until 600).map(id => s"$id ${if (id % 2 == 0) "new" else "old"} $id"))
      if (more.nonEmpty) {
        refused(Conditions.DatabaseError)(write(f, run, 2, Seq(word(1000, "new 2"))))
        assert(f.database.one("SELECT count(*) FROM t WHERE id = 2") == 1L)
      }
    }
  }

  on("rows that an upsert leaves as they are count as stored, whatever the driver counts", keyed) { f =>
    loading(f)
    val run = start(f, "keyColumns" -> "id", "connection.useAffectedRows" -> "true")
    write(f, run, 0, numbers(f, 0 until 300))
    write(f, run, 1, numbers(f, 0 until 300))
    holds(f, 0 until 300)
  }

  on("rows that cannot be read to their end leave a connection that works, and store nothing", table) { f =>
    loading(f)
    val options = JdbcOptions.read(f.database.options("t")).fold(throw _, identity)
    val pool = new ConnectionPool(options.connection, MysqlDialect, options.lockTimeout)
    pool.use() { connection =>
      val found = MysqlDialect.catalog.find(connection, options.table).get
      val bound = new TableCheck(MysqlDialect, options, f.schema).bind(found).fold(throw _, identity)
      val out = new ChunkedBytes(Long.MaxValue, () => fail())
      val encoder = MysqlDialect.rowFormat(bound).encoder(out)
      val binary = BinaryRow.converter(f.schema)
      (0 until 300).foreach(n => encoder.encode(binary(f.row(n.toLong))))
      val (chunks, lengths) = out.result()
      val pieces = chunks.toSeq.zip(lengths)
      val lost = new IllegalStateException("lost")
      val broken = new Iterable[(Array[Byte], Int)] {
        override def iterator = pieces.iterator ++ Iterator.continually(throw lost)
      }
      MysqlDialect.begin(connection, options.lockTimeout, None): Unit
      assert(
        intercept[IllegalStateException](
          MysqlDialect.load(connection, bound, EncodedRows(400, 0, broken), 200)) eq lost)
      MysqlDialect.rollback(connection)
      Using.resource(connection.createStatement())(_.execute("SELECT 1"))
    }
    holds(f, 0 until 0)
  }
}
