package io.epochal.jdbc.option

import java.time.Duration

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.core.retry.RetrySettings
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.access.{DriverAccess, Secret}
import io.epochal.kit.sink.flush.FlushSettings
import io.epochal.kit.sink.{AsynchronousProgress, IdentityOptions, SinkSettings}

/** What a query asked of the sink, checked.
  *
  * @param sink
  *   what any transactional sink is asked
  * @param upsert
  *   whether rows replace those of the same key, or remove them (`mode=changes`)
  * @param keyColumns
  *   as the user spelled them; empty where rows have no key
  */
final case class JdbcOptions(
    connection: ConnectionSettings,
    table: TableName,
    sink: SinkSettings,
    upsert: Boolean,
    keyColumns: Seq[String],
    orderColumn: Option[String],
    rows: RowOptions,
    keyComparison: KeyComparison,
    createTable: Boolean,
    nulCharacter: NulCharacter,
    trustedOwners: Seq[String],
    transport: TransportChoice,
    batchSize: Int,
    lockTimeout: Duration,
    retry: RetrySettings
)

object JdbcOptions {
  val Format = "epochal-jdbc"

  val Url: OptionSpec[String] = OptionSpec(
    "url",
    OptionType.string,
    "JDBC URL of the database: jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb:, jdbc:sqlite:, or that of any driver on the class path.",
    required = true,
    sample = Some("jdbc:sqlite:comments.db"))
  val DbTable: OptionSpec[TableName] = OptionSpec(
    "dbtable",
    RowOptions.tableName,
    "The table to write. A part in double quotes counts exactly as written; without quotes it is searched as written, then in the database's own case.",
    required = true,
    sample = Some("comments")
  )
  val User: OptionSpec[String] = OptionSpec("user", OptionType.string, "Name to log in with.", sample = Some("epochal"))
  val PasswordText: OptionSpec[String] =
    OptionSpec("password", OptionType.string, "Password to log in with.", secret = true)
  val PasswordFile: OptionSpec[String] = OptionSpec(
    "passwordFile",
    OptionType.string,
    "File with the password, read on the driver for every connection; a line break at its end does not count.",
    sample = Some("/run/secrets/database"))
  val PasswordEnv: OptionSpec[String] = OptionSpec(
    "passwordEnv",
    OptionType.string,
    "Name of an environment variable of the driver that holds the password.",
    sample = Some("DATABASE_PASSWORD"))
  val Driver: OptionSpec[String] = OptionSpec(
    "driver",
    OptionType.string,
    "Class of the JDBC driver. Unset: the usual one for the URL.",
    sample = Some("org.postgresql.Driver"))
  val Connection: OptionSpec[String] = OptionSpec(
    "connection.*",
    OptionType.string,
    "Properties for the driver, for example connection.sslmode=verify-full.",
    secret = true,
    sample = Some("verify-full"))
  val MaxConnections: OptionSpec[Int] = OptionSpec(
    "maxConnections",
    OptionType.int(2, 1000),
    "Connections that one JVM, the driver or an executor, may hold to the database with one login; tasks wait for a free one. Unset: 16 on PostgreSQL, 8 on others, 2 on SQLite.",
    sample = Some("4")
  )
  val Mode: OptionSpec[String] = OptionSpec(
    "mode",
    OptionType.oneOf("append", "upsert", "changes"),
    "append adds rows; upsert replaces rows of the same keyColumns; changes also deletes them, as opColumn says. Unset: changes when opColumn is given, upsert when keyColumns is."
  )
  val KeyColumns: OptionSpec[Seq[String]] = OptionSpec(
    "keyColumns",
    OptionType.names,
    "Columns that identify a row; the table needs a primary key or unique index on exactly these.",
    sample = Some("id"))
  val OrderColumn: OptionSpec[String] = OptionSpec(
    "orderColumn",
    OptionType.string,
    "Of rows with the same key in one epoch the one with the greatest value here is kept. Unset: such rows are an error.",
    sample = Some("updatedAt"))
  val Comparison: OptionSpec[KeyComparison] = OptionSpec(
    "keyComparison",
    OptionType.choice(KeyComparison.all)(_.name),
    "exact refuses a key column that treats texts as equal that are different in Spark (by a collation that ignores case, accents or spaces at the end, or a type such as citext); database accepts that they are one key.",
    Some(KeyComparison.Exact)
  )
  val CreateTable: OptionSpec[Boolean] = OptionSpec(
    "createTable",
    OptionType.boolean,
    "Makes the table from the query's columns if it does not exist.",
    Some(false))
  val NulText: OptionSpec[NulCharacter] = OptionSpec(
    "nulCharacter",
    OptionType.choice(NulCharacter.all)(_.name),
    "The character U+0000 in a text or in JSON, which databases cannot keep: error makes the row a bad row, strip leaves the character out, replace puts U+FFFD in its place.",
    Some(NulCharacter.Error)
  )
  val TrustedOwners: OptionSpec[Seq[String]] = OptionSpec(
    "trustedOwners",
    OptionType.names,
    "PostgreSQL: roles whose tables may be the sink's ledger, staging and table of bad rows, beside its own role, the owners of the target and of its schema, superusers, and whoever can act as one of these.",
    sample = Some("warehouse_admin")
  )
  val TransportName: OptionSpec[TransportChoice] = OptionSpec(
    "transport",
    OptionType.choice(TransportChoice.all)(_.name),
    "How rows reach the database. inline: with the tasks' commit messages, through the driver. staged: tasks load them into staging tables, from where the committing transaction moves them. prepared: tasks load them into the table and prepare their transactions, which the driver commits one by one; append only. auto: inline, and staged for the tasks whose rows exceed their share of inlineMaxBytes, where the database has that, else in files beside the checkpoint.",
    Some(TransportChoice.Auto))
  val InlineMaxBytes: OptionSpec[Long] = OptionSpec(
    "inlineMaxBytes",
    OptionType.bytes,
    "Bytes of an epoch, as encoded, that may travel in commit messages: with transport=inline more are an error, with auto a task whose share they exceed goes on by staging, or by a file where the database has no staging.",
    Some(64L << 20))
  val SpillDirectory: OptionSpec[String] = OptionSpec(
    "spillDirectory",
    OptionType.string,
    "Directory, on a file system that driver and executors reach, for files of rows that exceed inlineMaxBytes where the database has no staging (all but PostgreSQL). Unset: the checkpoint; for a batch in local mode a temporary directory, and on a cluster none.",
    sample = Some("s3a://bucket/spill")
  )
  val BatchSize: OptionSpec[Int] = OptionSpec(
    "batchSize",
    OptionType.int(1, 100000),
    "Rows in one INSERT where the database has no bulk load (all but PostgreSQL), as far as its parameters allow.",
    Some(200))
  val LockTimeout: OptionSpec[Duration] = OptionSpec(
    "lockTimeout",
    OptionType.duration,
    "How long one attempt waits for a lock in the database.",
    Some(Duration.ofSeconds(30)))

  val group: OptionGroup = OptionGroup(
    Format,
    "Writes to a database table: streaming writes exactly once by a ledger in the same database, batch writes in one transaction.",
    Seq(
      Url,
      DbTable,
      User,
      PasswordText,
      PasswordFile,
      PasswordEnv,
      Driver,
      Connection,
      MaxConnections,
      IdentityOptions.SinkId,
      Mode,
      KeyColumns,
      OrderColumn,
      Comparison) ++ RowOptions.all ++ Seq(
      CreateTable,
      NulText,
      IdentityOptions.NewQuery,
      IdentityOptions.LedgerEmpty,
      IdentityOptions.EpochMismatch,
      TrustedOwners,
      TransportName,
      InlineMaxBytes,
      SpillDirectory,
      BatchSize,
      LockTimeout) ++ FlushOptions.all ++ RetryOptions.all
  )

  def read(raw: Map[String, String]): Either[EpochalException, JdbcOptions] =
    for {
      values <- group.parse(raw)
      _ <- synchronousProgress(raw)
      _ <- values.exclusive("The password comes from one place: keep one of them.")(
        PasswordText,
        PasswordFile,
        PasswordEnv)
      keys = values.get(KeyColumns).getOrElse(Nil)
      mode = values.get(Mode)
      upsert = mode.fold(keys.nonEmpty || values.isSet(RowOptions.OpColumn))(_ != "append")
      rows <- RowOptions.read(values, mode, upsert)
      _ <- ensure(!upsert || keys.nonEmpty)(
        Conditions.KeyColumnsRequired("mode" -> s"mode=${if (rows.opColumn.isDefined) "changes" else "upsert"}"))
      _ <- values.consistent(upsert || !values.isSet(OrderColumn))(
        "{option:orderColumn}, {option:mode=append}",
        "{option:orderColumn} chooses between rows of the same key: set {option:keyColumns}, or leave {option:orderColumn} out.")
      // What tasks have prepared would meet, in unique indexes, the rows that are to be replaced.
      _ <- values.consistent(
        !values(IdentityOptions.NewQuery).replaces || values(TransportName) != TransportChoice.Prepared)(
        "{option:onNewQuery=replace}, {option:transport=prepared}",
        "Prepared transactions are written before the rows that they replace are deleted: leave {option:transport} out.")
      connection = ConnectionSettings(
        values(Url),
        values.get(User),
        password(values),
        values.get(Driver),
        values.family(Connection),
        values.get(MaxConnections))
      reached <- DriverAccess.checked { access =>
        values.get(SpillDirectory).foreach(access.directory(SpillDirectory.name, _))
        DriverRisks.check(connection, access)
      }
    } yield JdbcOptions(
      reached,
      values(DbTable),
      SinkSettings(
        values.get(IdentityOptions.SinkId),
        values(IdentityOptions.NewQuery),
        values(IdentityOptions.LedgerEmpty),
        values(IdentityOptions.EpochMismatch),
        values(InlineMaxBytes),
        values.get(SpillDirectory),
        rows.badRowLimit,
        FlushOptions.read(values)
      ),
      upsert,
      keys,
      values.get(OrderColumn),
      rows,
      values(Comparison),
      values(CreateTable),
      values(NulText),
      values.get(TrustedOwners).getOrElse(Nil),
      values(TransportName),
      values(BatchSize),
      values(LockTimeout),
      RetryOptions.settings(values)
    )

  /** What the sink, or a database, cannot do, why, and what to do instead. */
  private[jdbc] def unsupported(mode: String, reason: String, suggestion: String): EpochalException =
    Conditions.ModeUnsupported("format" -> Format, "mode" -> mode, "reason" -> reason, "suggestion" -> suggestion)

  private[jdbc] val noTransport = "Leave {option:transport} out."

  private[jdbc] def ensure(condition: Boolean)(error: => EpochalException): Either[EpochalException, Unit] =
    Either.cond(condition, (), error)

  private def password(values: OptionValues): Option[Secret] =
    values
      .get(PasswordText)
      .map(Secret.Given(_))
      .orElse(values.get(PasswordFile).map(Secret.InFile(PasswordFile.name, _)))
      .orElse(values.get(PasswordEnv).map(Secret.InEnvironment(PasswordEnv.name, _)))

  /** Spark refuses asynchronous progress tracking for this sink, but has a hidden option that overrides the refusal. */
  private def synchronousProgress(raw: Map[String, String]): Either[EpochalException, Unit] =
    ensure(!AsynchronousProgress.isEnabled(raw) && !AsynchronousProgress.isForced(raw))(
      unsupported(
        "run with asynchronous progress tracking",
        "an epoch's offsets must be logged before its rows are committed, or a restart does not know which rows are still to be written",
        "Set asyncProgressTrackingEnabled to false, and leave the option that overrides Spark's check out."))
}

/** What the option `keyComparison` asks for. */
sealed abstract class KeyComparison(val name: String)

object KeyComparison {
  case object Exact extends KeyComparison("exact")
  case object Database extends KeyComparison("database")

  val all: Seq[KeyComparison] = Seq(Exact, Database)
}

/** What the option `transport` asks for. */
sealed abstract class TransportChoice(val name: String)

object TransportChoice {
  case object Auto extends TransportChoice("auto")
  case object Inline extends TransportChoice("inline")
  case object Staged extends TransportChoice("staged")
  case object Prepared extends TransportChoice("prepared")

  val all: Seq[TransportChoice] = Seq(Auto, Inline, Staged, Prepared)
}

/** When a continuous or real-time query stores rows. */
object FlushOptions {

  val Interval: OptionSpec[Duration] = OptionSpec(
    "flushInterval",
    OptionType.duration,
    "Continuous and real-time triggers: the shortest time from the beginning of one transaction of a task to that of its next. A row that comes later is stored at once, those that come sooner gather. Shorter is sooner, and more transactions.",
    Some(Duration.ofMillis(10)))
  val Rows: OptionSpec[Int] = OptionSpec(
    "flushRows",
    OptionType.int(1, 1000000),
    "Continuous and real-time triggers: rows at which a task stores what it has gathered, before flushInterval is over.",
    Some(10000))

  val all: Seq[OptionSpec[_]] = Seq(Interval, Rows)

  def read(values: OptionValues): FlushSettings = FlushSettings(values(Interval), values(Rows))
}
