package io.epochal.jdbc.option

import java.time.Duration

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.core.retry.RetrySettings
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.access.{DriverAccess, Secret}
import io.epochal.kit.sink.flush.FlushSettings
import io.epochal.kit.sink.{AsynchronousProgress, IdentityOptions, SinkSettings}

/** A query's options for the sink, checked.
  *
  * @param sink
  *   options common to all transactional sinks
  * @param upsert
  *   rows replace, or delete (`mode=changes`), those of the same key
  * @param keyColumns
  *   as the user spelled them; empty if rows have no key
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
    "JDBC URL: jdbc:postgresql:, jdbc:mysql:, jdbc:mariadb:, jdbc:sqlite:, or another driver's on the class path.",
    required = true,
    sample = Some("jdbc:sqlite:comments.db"))
  val DbTable: OptionSpec[TableName] = OptionSpec(
    "dbtable",
    RowOptions.tableName,
    "Table to write. Double-quoted parts match exactly; others are tried as written, then in the database's case.",
    required = true,
    sample = Some("comments")
  )
  val User: OptionSpec[String] = OptionSpec("user", OptionType.string, "Database user.", sample = Some("epochal"))
  val PasswordText: OptionSpec[String] =
    OptionSpec("password", OptionType.string, "Password of user.", secret = true)
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
    "JDBC driver class. Unset: the usual one for the URL.",
    sample = Some("org.postgresql.Driver"))
  val Connection: OptionSpec[String] = OptionSpec(
    "connection.*",
    OptionType.string,
    "Driver properties, as connection.sslmode=verify-full.",
    secret = true,
    sample = Some("verify-full"))
  val MaxConnections: OptionSpec[Int] = OptionSpec(
    "maxConnections",
    OptionType.int(2, 1000),
    "Maximum connections per JVM (driver, executor) and login; tasks wait for a free one. Unset: 16 on PostgreSQL, 2 on SQLite, else 8.",
    sample = Some("4")
  )
  val Mode: OptionSpec[String] = OptionSpec(
    "mode",
    OptionType.oneOf("append", "upsert", "changes"),
    "append adds rows; upsert replaces those with the same keyColumns; changes also deletes, by opColumn. Unset: changes with opColumn, upsert with keyColumns, else append."
  )
  val KeyColumns: OptionSpec[Seq[String]] = OptionSpec(
    "keyColumns",
    OptionType.names,
    "Columns that identify a row; the table needs a primary key or unique index on exactly these.",
    sample = Some("id"))
  val OrderColumn: OptionSpec[String] = OptionSpec(
    "orderColumn",
    OptionType.string,
    "Of rows with the same key in one epoch, the one with the greatest value is kept. Unset: an error.",
    sample = Some("updatedAt"))
  val Comparison: OptionSpec[KeyComparison] = OptionSpec(
    "keyComparison",
    OptionType.choice(KeyComparison.all)(_.name),
    "For key columns that equate texts which differ in Spark (by case, accents, trailing spaces, or a type such as citext): exact refuses them, database accepts them as one key.",
    Some(KeyComparison.Exact)
  )
  val CreateTable: OptionSpec[Boolean] = OptionSpec(
    "createTable",
    OptionType.boolean,
    "Whether to create a missing table from the query's columns.",
    Some(false))
  val NulText: OptionSpec[NulCharacter] = OptionSpec(
    "nulCharacter",
    OptionType.choice(NulCharacter.all)(_.name),
    "Handling of U+0000 in texts and JSON: a bad row (error), removal (strip), or U+FFFD (replace).",
    Some(NulCharacter.Error)
  )
  val TrustedOwners: OptionSpec[Seq[String]] = OptionSpec(
    "trustedOwners",
    OptionType.names,
    "PostgreSQL: further roles that may own the sink's ledger, staging and table of bad rows. Always trusted are its own role, the owners of the target and its schema, superusers, and roles that can act as these.",
    sample = Some("warehouse_admin")
  )
  val TransportName: OptionSpec[TransportChoice] = OptionSpec(
    "transport",
    OptionType.choice(TransportChoice.all)(_.name),
    "inline: rows travel in commit messages, through the driver. staged: tasks load staging tables, from which the committing transaction moves rows. prepared (append only): tasks prepare transactions, which the driver commits one by one. auto: inline; for tasks beyond their share of inlineMaxBytes staged or, without staging, files beside the checkpoint.",
    Some(TransportChoice.Auto))
  val InlineMaxBytes: OptionSpec[Long] = OptionSpec(
    "inlineMaxBytes",
    OptionType.bytes,
    "Maximum encoded bytes of an epoch in commit messages. Beyond it transport=inline fails; with auto, tasks over their share use staging, or files without it.",
    Some(64L << 20))
  val SpillDirectory: OptionSpec[String] = OptionSpec(
    "spillDirectory",
    OptionType.string,
    "Directory, reachable by driver and executors, for rows beyond inlineMaxBytes without staging (all but PostgreSQL). Unset: the checkpoint; for a batch a temporary directory in local mode, none on a cluster.",
    sample = Some("s3a://bucket/spill")
  )
  val BatchSize: OptionSpec[Int] = OptionSpec(
    "batchSize",
    OptionType.int(1, 100000),
    "Rows per INSERT where the database has no bulk load (all but PostgreSQL), within its parameter limit.",
    Some(200))
  val LockTimeout: OptionSpec[Duration] = OptionSpec(
    "lockTimeout",
    OptionType.duration,
    "Maximum wait of one attempt for a database lock.",
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
      // In unique indexes, rows prepared by tasks would collide with the rows to be replaced.
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

  /** Refusal: what the sink or a database cannot do, why, and what to do instead. */
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

  /** Refuses asynchronous progress tracking: Spark refuses it for this sink, but a hidden option overrides that. */
  private def synchronousProgress(raw: Map[String, String]): Either[EpochalException, Unit] =
    ensure(!AsynchronousProgress.isEnabled(raw) && !AsynchronousProgress.isForced(raw))(
      unsupported(
        "run with asynchronous progress tracking",
        "an epoch's offsets must be logged before its rows are committed, or a restart does not know which rows are still to be written",
        "Set asyncProgressTrackingEnabled to false, and leave the option that overrides Spark's check out."))
}

/** Values of the option `keyComparison`. */
sealed abstract class KeyComparison(val name: String)

object KeyComparison {
  case object Exact extends KeyComparison("exact")
  case object Database extends KeyComparison("database")

  val all: Seq[KeyComparison] = Seq(Exact, Database)
}

/** Values of the option `transport`. */
sealed abstract class TransportChoice(val name: String)

object TransportChoice {
  case object Auto extends TransportChoice("auto")
  case object Inline extends TransportChoice("inline")
  case object Staged extends TransportChoice("staged")
  case object Prepared extends TransportChoice("prepared")

  val all: Seq[TransportChoice] = Seq(Auto, Inline, Staged, Prepared)
}

/** Options on when a continuous or real-time query stores rows. */
object FlushOptions {

  val Interval: OptionSpec[Duration] = OptionSpec(
    "flushInterval",
    OptionType.duration,
    "Continuous and real-time triggers: minimum time between the starts of a task's transactions; rows gather in the meantime.",
    Some(Duration.ofMillis(10)))
  val Rows: OptionSpec[Int] = OptionSpec(
    "flushRows",
    OptionType.int(1, 1000000),
    "Continuous and real-time triggers: gathered rows that are stored before flushInterval ends.",
    Some(10000))

  val all: Seq[OptionSpec[_]] = Seq(Interval, Rows)

  def read(values: OptionValues): FlushSettings = FlushSettings(values(Interval), values(Rows))
}
