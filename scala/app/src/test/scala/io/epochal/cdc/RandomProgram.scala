package io.epochal.cdc

import java.sql.{Connection, DriverManager, SQLException}

import scala.collection.mutable
import scala.util.{Random, Try, Using}

/** A table that a program changes: `id`, `note`, `amount`, `big` of values that are stored out of line, `at`, `tags`.
  *
  * @param kind
  *   the type of `id`
  * @param key
  *   the literal of a number's key
  * @param isFull
  *   REPLICA IDENTITY FULL
  */
final private case class ProgramTable(name: String, kind: String, key: Int => String, isFull: Boolean) {

  def ddl: Seq[String] = Seq(
    s"CREATE TABLE $name (id $kind PRIMARY KEY, note text, amount numeric(12, 3), big text, at timestamptz, tags text[])",
    s"ALTER TABLE $name ALTER big SET STORAGE EXTERNAL",
    s"ALTER TABLE $name REPLICA IDENTITY ${if (isFull) "FULL" else "DEFAULT"}"
  )
}

private object ProgramTable {
  def numbered(name: String, isFull: Boolean): ProgramTable = ProgramTable(name, "int", _.toString, isFull)
  def texts(name: String, isFull: Boolean): ProgramTable = ProgramTable(name, "text", n => s"'key $n'", isFull)
  def uuids(name: String, isFull: Boolean): ProgramTable =
    ProgramTable(name, "uuid", n => s"md5('$n')::uuid", isFull)
}

/** A random program: transactions of several sessions, which overlap, with savepoints and rollbacks. A statement that fails, or waits
  * for another session, is undone.
  */
final private class RandomProgram(random: Random, url: => String, tables: Seq[ProgramTable], altersAll: Boolean)
    extends AutoCloseable {
  import RandomProgram._

  private val sessions = Array.fill(Sessions)(Option.empty[Session])
  private val done = mutable.ArrayBuffer.empty[String]
  private var added = 0
  private val addedTexts = mutable.Set.empty[Int]

  /** The statements so far. */
  def trace: Seq[String] = done.toSeq

  def note(event: String): Unit = done += s"-- $event"

  def create(): Unit = {
    tables.flatMap(_.ddl).foreach(sql => alone(sql))
    tables.foreach { table =>
      val rows = random.nextInt(2 * Keys)
      if (rows > 0)
        alone(
          s"INSERT INTO ${table.name} (id, note, amount, big) VALUES ${(1 to rows).map(row(table, _)).mkString(", ")}")
    }
  }

  /** One statement of a session. */
  def step(): Unit = {
    val number = random.nextInt(Sessions)
    sessions(number) match {
      case None if random.nextInt(4) == 0 => alone(statement())
      case None =>
        val session = new Session(number)
        sessions(number) = Some(session)
        session.run("BEGIN")
      case Some(session) =>
        random.nextInt(24) match {
          case 0 | 1 | 2 => end(session, "COMMIT")
          case 3         => end(session, "ROLLBACK")
          case 4 | 5     => session.save()
          case 6 | 7     => session.restore()
          case 8         => session.release()
          case _         => session.run(statement())
        }
    }
  }

  def truncate(): Unit = {
    val session = new Session(Sessions)
    sessions.flatten.foreach(end(_, "COMMIT"))
    session.run("BEGIN")
    if (random.nextBoolean()) session.run(statement())
    session.run(s"TRUNCATE ${random.shuffle(tables).take(1 + random.nextInt(tables.size)).map(_.name).mkString(", ")}")
    if (random.nextBoolean()) session.run(statement())
    end(session, if (random.nextInt(4) == 0) "ROLLBACK" else "COMMIT")
  }

  /** Adds a column, or alters one that was added; nothing, if a transaction has the table. */
  def alter(): Unit = {
    val table = random.shuffle(tables).head
    if (random.nextBoolean()) sessions.flatten.foreach(end(_, "COMMIT"))
    def alter(change: String) = alone(s"ALTER TABLE ${table.name} $change")
    if (altersAll && added > 0 && random.nextBoolean()) {
      val number = 1 + random.nextInt(added)
      val column = s"added$number"
      random.nextInt(4) match {
        case 0                        => alter(s"DROP COLUMN $column"): Unit
        case 1 if !addedTexts(number) => alter(s"ALTER COLUMN $column TYPE bigint"): Unit
        case 2 if !addedTexts(number) => alter(s"ALTER COLUMN $column TYPE int USING $column % 5"): Unit
        case _                        => alter(s"ALTER COLUMN $column DROP NOT NULL"): Unit
      }
    } else {
      val isText = random.nextBoolean()
      val value = if (altersAll && random.nextBoolean()) " NOT NULL DEFAULT 7" else ""
      if (alter(s"ADD COLUMN added${added + 1} ${if (isText) "text" else "int"}$value")) {
        added += 1
        if (isText) addedTexts += added
      }
    }
  }

  /** Ends all transactions. */
  def finish(): Unit = sessions.flatten.foreach(end(_, if (random.nextInt(4) == 0) "ROLLBACK" else "COMMIT"))

  /** Writes a row that no statement changes. */
  def mark(table: ProgramTable, number: Int): Unit =
    if (!alone(s"INSERT INTO ${table.name} (id, note) VALUES (${table.key(number)}, 'mark $number')"))
      throw new IllegalStateException(s"the mark $number was not written")

  override def close(): Unit = sessions.flatten.foreach(_.close())

  private def end(session: Session, how: String): Unit = {
    session.run(how)
    session.close()
    if (session.number < Sessions) sessions(session.number) = None
  }

  /** In a transaction of its own. */
  private def alone(sql: String): Boolean = Using.resource(new Session(Sessions))(_.run(sql))

  private def statement(): String = {
    val table = random.shuffle(tables).head
    val name = table.name
    def key = table.key(1 + random.nextInt(Keys))
    def keys = Seq.fill(1 + random.nextInt(6))(key).mkString("(", ", ", ")")
    random.nextInt(13) match {
      case 0 | 1 =>
        val rows = Seq.fill(1 + random.nextInt(5))(row(table, 1 + random.nextInt(Keys)))
        s"INSERT INTO $name (id, note, amount, big) VALUES ${rows.mkString(", ")} ON CONFLICT (id) DO NOTHING"
      case 2 =>
        s"INSERT INTO $name (id, note, amount, big) VALUES ${row(table, 1 + random.nextInt(Keys))} ON CONFLICT (id) DO UPDATE SET note = excluded.note"
      // Leaves the large value alone.
      case 3 | 4   => s"UPDATE $name SET note = $text, tags = $array WHERE id IN $keys"
      case 5       => s"UPDATE $name SET amount = $amount, at = clock_timestamp() WHERE id IN $keys"
      case 6       => s"UPDATE $name SET big = $big WHERE id IN $keys"
      case 7       => s"UPDATE $name SET big = $big, note = NULL WHERE id = $key"
      case 8 | 9   => s"DELETE FROM $name WHERE id IN $keys"
      case 10 | 11 =>
        // Without FULL the server does not send the large value of a row with another key: the replica has it.
        val large = if (random.nextBoolean()) "" else s", big = $big"
        val to = key
        s"UPDATE $name SET id = $to$large WHERE id = $key AND NOT EXISTS (SELECT FROM $name WHERE id = $to)"
      case _ =>
        val column = if (added == 0) "note" else s"added${1 + random.nextInt(added)}"
        s"UPDATE $name SET $column = ${random.nextInt(100)} WHERE id IN $keys"
    }
  }

  private def row(table: ProgramTable, key: Int): String = s"(${table.key(key)}, $text, $amount, $big)"

  private def text: String = if (random.nextInt(6) == 0) "NULL" else s"'note ${random.nextInt(1000)}'"

  private def amount: String = if (random.nextInt(6) == 0) "NULL" else s"${random.nextInt(100000)} / 8.0"

  private def array: String = if (random.nextInt(3) == 0) "NULL" else s"ARRAY['a', NULL, 'b ${random.nextInt(10)}']"

  private def big: String = random.nextInt(6) match {
    case 0 => "NULL"
    case 1 => "'small'"
    case n => s"repeat('${random.alphanumeric.head}', ${n * 1000})"
  }

  final private class Session(val number: Int) extends AutoCloseable {
    private var saved = List.empty[String]
    private val connection = Try(DriverManager.getConnection(url)).toOption
    connection.foreach(execute(_, "SET lock_timeout = 20"))

    /** Returns whether it succeeded; if not, undoes it. */
    def run(sql: String): Boolean = connection.exists { open =>
      done += s"/* $number */ $sql"
      try {
        execute(open, sql)
        true
      } catch {
        case error: SQLException =>
          note(s"${error.getMessage.takeWhile(_ != '\n')}")
          Try(execute(open, saved.headOption.fold("ROLLBACK; BEGIN")(name => s"ROLLBACK TO $name"))): Unit
          false
      }
    }

    def save(): Unit = {
      val name = s"s${saved.size}"
      if (run(s"SAVEPOINT $name")) saved ::= name
    }

    def restore(): Unit = if (saved.nonEmpty) {
      saved = saved.drop(random.nextInt(saved.size))
      run(s"ROLLBACK TO ${saved.head}"): Unit
    }

    def release(): Unit = saved.headOption.foreach { name =>
      saved = saved.tail
      run(s"RELEASE $name")
    }

    private def execute(open: Connection, sql: String): Unit =
      Using.resource(open.createStatement())(_.execute(sql)): Unit

    override def close(): Unit = connection.foreach(open => Try(open.close()))
  }
}

private object RandomProgram {
  private val Sessions = 3

  /** Keys of a table that statements change. */
  private val Keys = 24
}
