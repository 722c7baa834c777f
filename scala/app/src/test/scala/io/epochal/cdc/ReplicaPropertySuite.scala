package io.epochal.cdc

import java.io.File
import java.nio.file.Files
import java.sql.{Connection, DriverManager}

import scala.collection.mutable
import scala.util.{Random, Try, Using}

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.streaming.StreamingQueryException
import org.apache.spark.sql.test.QuerySuite

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.Failpoints
import io.epochal.jdbc.{PostgresServer, TestServer}
import io.epochal.support.Examples
import io.epochal.support.SlowTests.slowIf

/** Random programs on a real server that is stopped and killed, and queries that are stopped and fail at any step: afterwards the
  * replica is equal, row for row. `EPOCHAL_CDC_SEED` repeats one program.
  */
final class ReplicaPropertySuite extends QuerySuite {
  import ReplayedChanges._
  import ReplicaPropertySuite._

  private lazy val source = {
    val node = PostgresServer.node().fold(TestServer.missing("postgres"), identity)
    // The server asks for the confirmed position twice in this time.
    node.run("ALTER SYSTEM SET wal_sender_timeout = '1s'", "SELECT pg_reload_conf()")
    node
  }
  private lazy val target = PostgresServer.url.fold(TestServer.missing("postgres"), identity)

  override def afterAll(): Unit =
    try source.close()
    finally super.afterAll()

  Seq(
    Kind("of a table with a key", Seq(ProgramTable.numbered("orders", isFull = false)), isSeveral = false),
    Kind(
      "of a table with REPLICA IDENTITY FULL",
      Seq(ProgramTable.numbered("orders", isFull = true)),
      isSeveral = false),
    Kind(
      "of several tables",
      Seq(
        ProgramTable.numbered("orders", isFull = false),
        ProgramTable.texts("items", isFull = true),
        ProgramTable.uuids("places", isFull = false)),
      isSeveral = true
    ),
    Kind(
      "of several tables whose changes it follows",
      Seq(
        ProgramTable.numbered("orders", isFull = false),
        ProgramTable.texts("items", isFull = true),
        ProgramTable.uuids("places", isFull = false)),
      isSeveral = false,
      follows = true
    )
  ).foreach { kind =>
    val tags = slowIf(kind.isSeveral || kind.follows || kind.tables.head.isFull)
    test(s"any program, restarts and failures: a replica ${kind.name} is equal", tags: _*) {
      val repeated = sys.env.get("EPOCHAL_CDC_SEED").map(_.toLong)
      val first = repeated.getOrElse(if (Examples.isFull) Random.nextLong() >>> 16 else 1000L)
      val events = mutable.Map.empty[String, Int].withDefaultValue(0)
      (0 until repeated.fold(Examples.of(60, 1).value)(_ => 1)).foreach { number =>
        val seed = first + number
        run(kind, seed, events)
      }
      info(
        s"EPOCHAL_CDC_SEED=$first: ${events.toSeq.sorted.map { case (event, times) => s"$event $times" }.mkString(", ")}")
    }
  }

  private def run(kind: Kind, seed: Long, events: mutable.Map[String, Int]): Unit = {
    val random = new Random(seed)
    Using.resource(new Scene(kind, random, events)) { scene =>
      try scene.play()
      catch {
        case error: Throwable =>
          val log =
            Files.writeString(Files.createTempFile("program-", ".sql"), scene.program.trace.mkString("", ";\n", "\n"))
          throw new AssertionError(s"EPOCHAL_CDC_SEED=$seed: $error (the program is in $log)", error)
      }
    }
  }

  /** A program and its query. */
  final private class Scene(kind: Kind, random: Random, events: mutable.Map[String, Int]) extends AutoCloseable {
    private val name = s"replica_${ProcessHandle.current.pid}_${names.incrementAndGet()}"
    on(source.url)(s"CREATE DATABASE $name")
    on(target)(s"CREATE DATABASE $name")
    private val (from, to) = (database(source.url, name), database(target, name))
    val program = new RandomProgram(random, from, kind.tables, kind.follows)
    private val table = kind.tables.head

    private val options = Map("numPartitions" -> (1 + random.nextInt(2)).toString, "heartbeatInterval" -> "200ms") ++
      Option.when(random.nextBoolean())("maxRowsPerBatch" -> (10 + random.nextInt(80)).toString) ++
      Option.when(random.nextInt(4) == 0)("maxJournalBytes" -> "20k") ++
      (if (random.nextBoolean()) Map("snapshot" -> "chunks", "chunkRows" -> (1 + random.nextInt(20)).toString) else Nil)
    private val alwaysAdopts = random.nextBoolean()
    private val pause = Seq(0, 10, 40)(random.nextInt(3))

    private var query = Option.empty[org.apache.spark.sql.streaming.StreamingQuery]
    private var checkpoint = newCheckpoint()
    private var adopts = false
    private var isCaptured = false
    private var marks = 100000
    private var loads = 0

    def play(): Unit = {
      program.create()
      createReplica()
      (0 until 30 + random.nextInt(70)).foreach { _ =>
        look()
        random.nextInt(100) match {
          case n if n < 4              => if (query.isEmpty) start() else stop()
          case 4 | 5                   => arm()
          case 6                       => restart()
          case 7                       => count("ALTER")(program.alter())
          case 13 | 14 if kind.follows => count("ALTER")(program.alter())
          case 8                       => count("TRUNCATE")(program.truncate())
          case 9 | 10                  => catchUp()
          case 11 | 12                 => requestReload()
          case _                       => program.step()
        }
        if (pause > 0) Thread.sleep(random.nextInt(pause).toLong)
      }
      program.finish()
      Failpoints.disarm()
      catchUp()
      commitAll()
      if (kind.follows || options.contains("snapshot")) awaitEqual()
      stop()
      compare()
    }

    private def count(event: String)(body: => Unit): Unit = {
      events(event) += 1
      program.note(event)
      body
    }

    private def start(): Unit = {
      copyColumns()
      program.note(s"start${if (adopts) ", adopts" else ""}")
      val changes = spark.readStream
        .format("epochal-cdc")
        .options(Map("url" -> from, "dbtable" -> kind.tables.map(_.name).mkString(","), "slot" -> name))
        .options(Map("onTruncate" -> "emit", "retry.initialDelay" -> "20ms", "retry.maxDelay" -> "100ms") ++ options)
        .options(if (kind.follows) Map("rows" -> "typed", "onSchemaChange" -> "follow")
        else if (!kind.isSeveral && (adopts || alwaysAdopts)) Map("onSchemaChange" -> "adopt")
        else Map.empty[String, String])
        .load()
      val writer = changes.writeStream
        .format("epochal-jdbc")
        .options(
          Map("url" -> to, "sinkId" -> s"replica $loads", "retry.initialDelay" -> "20ms", "retry.maxDelay" -> "100ms"))
        .option("checkpointLocation", checkpoint.getPath)
      query = Some(
        if (kind.isSeveral) writer.option("dbtable", "log").start()
        else if (kind.follows)
          writer
            .options(Map("dbtable" -> "{table}", "mode" -> "changes", "tableColumn" -> "_table"))
            .options(Map("createTable" -> "true", "alterColumns" -> "true"))
            .start()
        else writer.options(Map("dbtable" -> table.name, "mode" -> "changes", "keyColumns" -> "id")).start())
      events("start") += 1
    }

    private def stop(): Unit = query.foreach { running =>
      program.note("stop")
      running.stop()
      // An error that came before the stop.
      look()
      query = None
    }

    /** Takes note of the end of the query, which must have a reason. */
    private def look(): Unit = query.filterNot(_.isActive).foreach { ended =>
      query = None
      ended.exception.foreach { error =>
        val causes = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).toSeq
        program.note(s"ended: ${causes.last.toString.take(200)}")
        causes.collectFirst { case ours: EpochalException => ours.condition } match {
          case _ if causes.exists(_.toString.contains("failpoint ")) => events("failure") += 1
          case Some(Conditions.DatabaseUnreachable)                  => events("server unreachable") += 1
          case Some(Conditions.TableChanged) =>
            events("adopted") += 1
            adopts = true
          case Some(Conditions.QueryOutdated)  => events("outdated") += 1
          case Some(Conditions.TableTruncated) => reload()
          // The row moved into the part of the table that an interrupted snapshot had copied.
          case Some(Conditions.ValueNotSent) if !isCaptured => reload()
          case _                                            => throw error
        }
      }
    }

    /** A snapshot that was read in parts, before and after a TRUNCATE, is refused. */
    private def reload(): Unit = count("reload") {
      dropSlot()
      FileUtils.deleteQuietly(checkpoint)
      checkpoint = newCheckpoint()
      loads += 1
      isCaptured = false
      on(to)(s"DROP TABLE IF EXISTS ${if (kind.isSeveral) "log" else kind.tables.map(_.name).mkString(", ")}")
      createReplica()
    }

    private def requestReload(): Unit = count("reload requested") {
      val table = kind.tables(random.nextInt(kind.tables.size)).name
      on(from)(s"SELECT pg_logical_emit_message(true, 'epochal', 'reload public.$table')")
    }

    private def arm(): Unit = {
      val step = Steps(random.nextInt(Steps.size))
      count(step)(Failpoints.arm(s"$step=fail@${1 + random.nextInt(3)}"))
    }

    private def restart(): Unit =
      if (random.nextBoolean()) {
        count("server stopped")(source.stop())
        source.start()
      } else {
        count("server crashed")(source.crash())
        source.start()
      }

    /** Waits until the replica has all changes. */
    private def catchUp(): Unit = {
      // A slot begins after the transactions that run when it is created.
      if (!isCaptured) {
        program.finish()
        // A snapshot that was interrupted may deliver the first mark as a row, before changes of the rows that it read earlier.
        deliverMark()
      }
      deliverMark()
      isCaptured = true
    }

    /** Writes a row with the highest key so far, and waits until the replica has it. */
    private def deliverMark(): Unit = {
      marks += 1
      program.mark(table, marks)
      val end = System.nanoTime() + 90L * 1000000000L
      while (!arrived()) {
        look()
        if (query.isEmpty) start()
        if (System.nanoTime() > end) throw new AssertionError(s"the replica has no row $marks")
        Thread.sleep(10)
      }
    }

    /** Waits until the sink has committed everything: of an epoch with a mark, other tasks may commit later. */
    private def commitAll(): Unit = {
      if (query.isEmpty) start()
      try query.foreach(_.processAllAvailable())
      catch {
        case _: StreamingQueryException =>
          look()
          commitAll()
      }
    }

    /** Waits for restarts after changes of columns, for the next epoch, which alters the replica, for reloads, and for chunks. */
    private def awaitEqual(): Unit = {
      val end = System.nanoTime() + 60L * 1000000000L
      while (Try(compare()).isFailure && System.nanoTime() < end) {
        deliverMark()
        Thread.sleep(300)
      }
    }

    private def arrived(): Boolean = {
      val found =
        if (kind.isSeveral) s"FROM log WHERE after LIKE '%\"mark $marks\"%'"
        else s"FROM ${table.name} WHERE id = $marks"
      (!kind.follows || rows(to, s"SELECT to_regclass('${table.name}')::text") != Seq(null)) && rows(
        to,
        s"SELECT count(*) $found") != Seq("0")
    }

    private def createReplica(): Unit =
      if (kind.isSeveral)
        on(to)(
          "CREATE TABLE log (_table text, before text, after text, _unchanged_columns text[], _change_type text, _commit_version text, _commit_timestamp timestamptz)")
      else if (!kind.follows) on(to)(table.ddl.head)

    /** Gives the replica the columns that the table has got. */
    private def copyColumns(): Unit = if (!kind.isSeveral && !kind.follows) {
      def columns(url: String) = rows(
        url,
        s"SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '${table.name}'::regclass AND attnum > 0 ORDER BY attnum")
      columns(from).diff(columns(to)).foreach(column => on(to)(s"ALTER TABLE ${table.name} ADD COLUMN $column"))
    }

    private def compare(): Unit =
      if (kind.isSeveral) {
        val log = rows(to, "SELECT row_to_json(log)::text FROM log ORDER BY _commit_version, _change_type").map(read)
        val versions =
          log.map(change => change.get("_commit_version").textValue -> change.get("_change_type").textValue)
        assert(versions.distinct == versions)
        val replicas = replayed(log)
        kind.tables.foreach { table =>
          val found =
            rows(from, s"SELECT row_to_json(t)::text FROM ${table.name} t").map(row => withoutNulls(read(row)))
          val copied = replicas.getOrElse(s"public.${table.name}", Map.empty).values.map(withoutNulls).toSeq
          assert(copied.diff(found) == Nil && found.diff(copied) == Nil, table.name)
        }
      } else
        kind.tables.foreach { table =>
          copyColumns()
          val columns = rows(
            from,
            s"SELECT attname FROM pg_attribute WHERE attrelid = '${table.name}'::regclass AND attnum > 0 AND NOT attisdropped")
          val list = s"SELECT row(${columns.mkString(", ")})::text FROM ${table.name} ORDER BY id"
          val (found, copied) = (rows(from, list), rows(to, list))
          // Too many, and missing.
          assert((copied.diff(found).map(_.take(60)), found.diff(copied).map(_.take(60))) == (Nil -> Nil))
        }

    private def dropSlot(): Unit = {
      val slot = s"FROM pg_replication_slots WHERE slot_name = '$name'"
      val end = System.nanoTime() + 60L * 1000000000L
      while (rows(from, s"SELECT 1 $slot AND active").nonEmpty && System.nanoTime() < end) Thread.sleep(20)
      rows(from, s"SELECT pg_drop_replication_slot(slot_name)::text $slot"): Unit
    }

    override def close(): Unit = {
      Failpoints.disarm()
      program.close()
      query.foreach(_.stop())
      dropSlot()
      Seq(source.url, target).foreach(on(_)(s"DROP DATABASE $name WITH (FORCE)"))
      FileUtils.deleteQuietly(checkpoint): Unit
    }
  }
}

private object ReplicaPropertySuite {
  val names = new java.util.concurrent.atomic.AtomicInteger

  /** Where queries fail, sources and sinks. */
  val Steps: IndexedSeq[String] = IndexedSeq("offset.first", "journal.written", "journal.synced", "journal.removed") ++
    Seq("publication", "slot", "rows", "range", "snapshot", "changes", "witness", "confirmed").map("capture." + _) ++
    Seq("requested", "copied", "complete", "stored").map("reload." + _) ++
    Seq("task.before-commit", "task.after-commit", "ledger.written", "commit.before", "commit.after")

  /** @param isSeveral
    *   whether rows are JSON in a log
    * @param follows
    *   whether all columns may change
    */
  final case class Kind(name: String, tables: Seq[ProgramTable], isSeveral: Boolean, follows: Boolean = false)

  def newCheckpoint(): File = Files.createTempDirectory("replica-").toFile

  def database(url: String, name: String): String = url.replaceFirst("/[^/?]*(?=\\?|$)", s"/$name")

  def on(url: String)(sql: String*): Unit = using(url) { connection =>
    Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))
  }

  /** The only column of the rows. */
  def rows(url: String, sql: String): Seq[String] = using(url) { connection =>
    Using.resource(connection.createStatement()) { statement =>
      val found = statement.executeQuery(sql)
      Iterator.continually(found).takeWhile(_.next()).map(_.getString(1)).toVector
    }
  }

  /** In the time zone of generic rows. */
  private def using[A](url: String)(body: Connection => A): A = Using.resource(DriverManager.getConnection(url)) {
    connection =>
      Using.resource(connection.createStatement())(_.execute("SET TimeZone TO 'UTC'")): Unit
      body(connection)
  }
}
