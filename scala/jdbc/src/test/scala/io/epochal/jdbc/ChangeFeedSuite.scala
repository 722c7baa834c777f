package io.epochal.jdbc

import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class SqliteChangeFeedSuite extends ChangeFeed(Sqlite)
final class PostgresChangeFeedSuite extends ChangeFeed(Postgres) {

  hostile(" under standard_conforming_strings = off") { f =>
    val name = f.database.one("SELECT current_database()")
    f.database.execute(s"ALTER DATABASE $name SET standard_conforming_strings = off")
  }
}
@Slow
final class StagedChangeFeedSuite extends ChangeFeed(PostgresBy.staged)
@Slow
final class Postgres13ChangeFeedSuite extends ChangeFeed(Postgres13)

@Slow
final class MariadbChangeFeedSuite extends ChangeFeed(Mariadb)
@Slow
final class Mysql8ChangeFeedSuite extends ChangeFeed(Mysql8)
@Slow
final class Mysql8ByMariadbChangeFeedSuite extends ChangeFeed(Mysql8ByMariadb)

/** `mode=changes` over a change feed, as `epochal-cdc` delivers it: the table becomes equal to the captured one. */
abstract class ChangeFeed(databases: TestDatabases) extends SinkSuite(databases) {

  private val ddl = "CREATE TABLE t (id BIGINT, big TEXT NOT NULL, note TEXT, PRIMARY KEY (id))"
  private val schema: StructType = new StructType()
    .add("id", LongType)
    .add("note", StringType)
    .add("big", StringType)
    .add("_unchanged_columns", ArrayType(StringType, containsNull = false))
    .add("_change_type", StringType)
    .add("_commit_version", StringType)
    .add("_commit_timestamp", TimestampType)
  private val feed: Map[String, String] =
    Map("sinkId" -> "sink", "mode" -> "changes", "keyColumns" -> "id") ++ databases.keyOptions

  private var version = 0L

  private def text(value: String): UTF8String = UTF8String.fromString(value)

  /** The next change. */
  private def change(
      kind: String,
      id: Any = null,
      note: String = null,
      big: String = null,
      unchanged: Seq[String] = null,
      sameVersion: Boolean = false): InternalRow = {
    if (!sameVersion) version += 1
    val list = if (unchanged == null) null else new GenericArrayData(unchanged.map(text(_): Any).toArray)
    val at = "%016X/%010d".formatLocal(Locale.ROOT, version / 3, version % 3)
    InternalRow(id, text(note), text(big), list, text(kind), text(at), version)
  }

  private def stored(f: JdbcSinkFixture): Seq[String] =
    f.database.query("SELECT id, note, big FROM t ORDER BY id").map(_.mkString(" "))

  onSchema("the columns of a change are recognised and not stored", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    write(f, run, 0, Seq(change("insert", 1L, "one", "BIG"), change("insert", 2L, "two", "BIG")))
    write(
      f,
      run,
      1,
      Seq(
        change("update_preimage", 1L, "one", "BIG"),
        change("update_postimage", 1L, "ONE", "BIG", sameVersion = true),
        change("delete", 2L)))
    assert(stored(f) == Seq("1 ONE BIG"))
  }

  onSchema("a value that was not sent stays as it is, in the table or from an earlier row of the epoch", schema, ddl) {
    f =>
      val run = f.newRun(query, feed)
      write(f, run, 0, Seq(change("insert", 1L, "one", "BIG"), change("insert", 2L, "two", "LARGE")))
      write(
        f,
        run,
        1,
        Seq(
          change("update_postimage", 1L, "ONE", unchanged = Seq("big")),
          change("insert", 3L, "three", "HUGE"),
          change("update_postimage", 3L, "THREE", unchanged = Seq("big")),
          change("update_postimage", 2L, null, "larger"),
          change("update_postimage", 2L, "TWO", unchanged = Seq("big")),
          change("update_postimage", 2L, unchanged = Seq("big", "note"))
        )
      )
      assert(stored(f) == Seq("1 ONE BIG", "2 TWO larger", "3 THREE HUGE"))
  }

  onSchema("a truncate empties the table, and only rows after it are stored", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    write(f, run, 0, Seq(change("insert", 1L, "one", "BIG"), change("insert", 2L, "two", "BIG")))
    write(f, run, 1, Seq(change("insert", 3L, "three", "BIG"), change("truncate"), change("insert", 1L, "new", "BIG")))
    assert(stored(f) == Seq("1 new BIG"))
  }

  onSchema("a partial update of a row that is not there fails, and nothing is stored", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    refused(Conditions.RowsDropped)(
      write(
        f,
        run,
        0,
        Seq(change("insert", 1L, "one", "BIG"), change("update_postimage", 2L, "two", unchanged = Seq("big")))))
    assert(stored(f).isEmpty)
  }

  /** An update of the key, where the server sends only what has changed. */
  private def move(from: Long, to: Long, note: String = null, unchanged: Seq[String] = Seq("big")): Seq[InternalRow] =
    Seq(change("delete", from), change("insert", to, note, unchanged = unchanged, sameVersion = true))

  onSchema("a row whose key changes keeps the values that were not sent", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    write(f, run, 0, (1L to 9L).map(id => change("insert", id, s"note $id", s"BIG $id")))
    val several = Seq(
      move(1, 11, "moved"),
      // Through several keys, and back to the first one.
      move(2, 12, "once") ++ move(12, 22, unchanged = Seq("big", "note")) ++ move(22, 32, "thrice"),
      move(3, 13, "away") ++ move(13, 3, "back"),
      // With a value that was sent on the way, before a move and after it.
      Seq(change("update_postimage", 4L, "new", "LARGE")) ++ move(4, 14, unchanged = Seq("big", "note")),
      move(5, 15, "a") ++ Seq(change("update_postimage", 15L, "b", unchanged = Seq("big"))) ++ move(15, 25, "c"),
      // To the key of a row that is gone, and from a key that another row has then.
      Seq(change("delete", 6L)) ++ move(7, 6, "seventh") ++ Seq(change("insert", 7L, "new", "OTHER")),
      move(8, 18) ++ move(9, 8, "ninth") ++ move(8, 9, "ninth again") ++ Seq(change("delete", 18L)),
      Seq(change("insert", 40L, "fresh", "NEW")) ++ move(40, 41, unchanged = Seq("big", "note"))
    )
    write(f, run, 1, scala.util.Random.shuffle(several.flatten))
    assert(
      stored(f) == Seq(
        "3 back BIG 3",
        "6 seventh BIG 7",
        "7 new OTHER",
        "9 ninth again BIG 9",
        "11 moved BIG 1",
        "14 new LARGE",
        "25 c BIG 5",
        "32 thrice BIG 2",
        "41 note 40 NEW".replace("note 40", "fresh")
      ))
  }

  onSchema("many rows whose keys change keep their values", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    val ids = 1L to 3000L
    write(f, run, 0, ids.map(id => change("insert", id, "note", s"BIG $id")))
    write(f, run, 1, ids.flatMap(id => move(id, id + 10000, s"note $id")))
    assert(stored(f) == ids.map(id => s"${id + 10000} note $id BIG $id"))
  }

  onSchema("a row whose key changes often keeps its values", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    write(f, run, 0, Seq(change("insert", 0L, "note", "BIG")))
    write(f, run, 1, (0L until 1500L).flatMap(id => move(id, id + 1, s"note $id")))
    assert(stored(f) == Seq("1500 note 1499 BIG"))
  }

  onSchema("a row whose earlier key a filter leaves out fails, and nothing is stored", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    write(f, run, 0, Seq(change("insert", 1L, "one", "BIG 1")))
    def arrival = move(200, 1, "moved").tail
    refused(Conditions.RowsDropped)(write(f, run, 1, change("delete", 1L) +: arrival))
    val later = change("update_postimage", 1L, "later", unchanged = Seq("big"))
    refused(Conditions.RowsDropped)(write(f, run, 1, (change("delete", 1L) +: arrival) :+ later))
    assert(stored(f) == Seq("1 one BIG 1"))
  }

  onSchema("rows that exchange their keys keep the values that were not sent", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    write(f, run, 0, Seq(change("insert", 1L, "one", "BIG 1"), change("insert", 2L, "two", "BIG 2")))
    write(f, run, 1, move(1, 0, "one") ++ move(2, 1, "two") ++ move(0, 2, unchanged = Seq("big", "note")))
    assert(stored(f) == Seq("1 two BIG 2", "2 one BIG 1"))
  }

  onSchema("a row that moves from a key that is not there fails, and nothing is stored", schema, ddl) { f =>
    val run = f.newRun(query, feed)
    write(f, run, 0, Seq(change("insert", 2L, "two", "BIG 2")))
    refused(Conditions.RowsDropped)(
      write(f, run, 1, Seq(change("update_postimage", 2L, "TWO", "LARGE"), change("delete", 2L)) ++ move(1, 2, "one")))
    assert(stored(f) == Seq("2 two BIG 2"))
  }

  onSchema("an order column contradicts a feed", schema, ddl) { f =>
    refused(Conditions.OptionConflict)(f.newRun(query, feed + ("orderColumn" -> "note")))
  }

  onSchema("a feed without a version is none", StructType(schema.filterNot(_.name == "_commit_version")), ddl) { f =>
    refused(Conditions.OptionRequired)(f.newRun(query, feed))
  }

  // MySQL's driver takes the backslash in a name for an escape.
  private val odd = if (databases == Mysql8) "no'te" else "no'te\\"
  private val hostileSchema = new StructType()
    .add("id", StringType)
    .add(odd, StringType)
    .add("_unchanged_columns", ArrayType(StringType))
    .add("_change_type", StringType)
    .add("_commit_version", StringType)

  protected def hostile(where: String)(prepare: JdbcSinkFixture => Unit): Unit =
    onSchema(
      s"no value of a feed becomes SQL$where",
      hostileSchema,
      s"""CREATE TABLE t (id ${databases.keyText} PRIMARY KEY, "$odd" TEXT NOT NULL)""",
      "CREATE TABLE victim (id BIGINT)") { f =>
      prepare(f)
      val attacks = Seq("'; DROP TABLE victim; --", "\\'; DROP TABLE victim; --", "\\", "'", "$$;\"` /*", "\n|")
      def row(kind: String, id: String, note: String, version: String, unchanged: String*): InternalRow = {
        val names = new GenericArrayData((unchanged :+ null).map(text(_): Any).toArray)
        InternalRow(text(id), text(note), if (unchanged.isEmpty) null else names, text(kind), text(version))
      }
      val run = f.newRun(query, feed)
      attacks.zipWithIndex.foreach { case (attack, epoch) =>
        val rows = Seq(
          row("insert", "gone", attack, s"1$attack"),
          row("truncate", null, null, s"2$attack"),
          row("insert", attack, "before", s"3$attack"),
          row("update_postimage", attack, attack, s"4$attack"),
          row("update_postimage", attack, null, s"5$attack", attack +: attacks :+ odd: _*),
          row("insert", s"$attack 2", attack, s"6$attack"),
          row("delete", s"$attack 2", null, s"7$attack")
        )
        write(f, run, epoch.toLong, rows)
        assert(f.database.query("SELECT * FROM t").map(_.map(_.toString)) == Seq(Seq(attack, attack)))
        assert(
          refused(Conditions.BadRow)(write(f, run, epoch + 1L, Seq(row(attack, "1", "1", "1"))))
            .values("column") == "_change_type")
      }
      assert(f.database.one("SELECT count(*) FROM victim").toString == "0")
    }

  hostile("")(_ => ())

  onSchema("any feed leaves the rows of the captured table", schema, ddl) { f =>
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val random = new scala.util.Random(seed.long._1)
    val captured = mutable.SortedMap.empty[Long, (String, String)]
    val run = f.newRun(query, feed)

    def step(): Seq[InternalRow] = {
      val id = random.nextInt(12).toLong
      val (note, big) = (if (random.nextInt(5) == 0) null else Gen.alphaStr.sample.get, s"big $version")
      captured.get(id) match {
        case _ if random.nextInt(60) == 0 =>
          captured.clear()
          Seq(change("truncate"))
        case None =>
          captured(id) = (note, big)
          Seq(change("insert", id, note, big))
        case Some(_) if random.nextInt(4) == 0 =>
          captured.remove(id)
          Seq(change("delete", id))
        case Some((oldNote, oldBig)) =>
          random.nextInt(6) match {
            case 5 =>
              val moved = random.nextInt(24).toLong
              if (captured.contains(moved)) Nil
              else {
                captured.remove(id)
                captured(moved) = (note, oldBig)
                move(id, moved, note)
              }
            case 0 =>
              captured(id) = (note, oldBig)
              Seq(change("update_postimage", id, note, unchanged = Seq("big")))
            case 1 =>
              captured(id) = (oldNote, big)
              Seq(change("update_postimage", id, null, big, unchanged = Seq("note")))
            case 2 if !captured.contains(id + 100) =>
              captured.remove(id)
              captured(id + 100) = (oldNote, oldBig)
              Seq(change("delete", id), change("insert", id + 100, oldNote, oldBig))
            case 3 =>
              // The image before an update has the old key.
              val moved = if (random.nextBoolean() && !captured.contains(id + 100)) id + 100 else id
              captured.remove(id)
              captured(moved) = (note, big)
              val before = change("update_preimage", id, oldNote, oldBig)
              Seq(before, change("update_postimage", moved, note, big, sameVersion = true))
            case _ =>
              captured(id) = (note, big)
              Seq(change("update_postimage", id, note, big))
          }
      }
    }

    (0 until 40).foreach { epoch =>
      val rows = Seq.fill(random.nextInt(30))(step()).flatten
      write(f, run, epoch.toLong, random.shuffle(rows))
      assert(stored(f) == captured.toSeq.map { case (id, (note, big)) => s"$id $note $big" }, s"epoch $epoch")
    }
  }
}
