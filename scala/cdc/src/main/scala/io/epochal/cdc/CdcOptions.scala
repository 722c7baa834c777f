package io.epochal.cdc

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.epochal.cdc.change.{OnSchemaChange, OnTruncate}
import io.epochal.cdc.reload.{ComparisonPlan, ReloadPurpose}
import io.epochal.cdc.slot.{CaptureServer, PublicationFacts, TableSelection}
import io.epochal.core.error.EpochalException
import io.epochal.core.option._
import io.epochal.core.retry.RetrySettings
import io.epochal.kit.database.{ConnectionOptions, ConnectionSettings, DriverRisks}
import io.epochal.kit.source.ReadLimits

/** Validated options of a query.
  *
  * @param slot
  *   None: a stable name, made at the first start
  * @param source
  *   the source identity that is stored in offsets
  */
final case class CdcOptions private[cdc] (
    connection: ConnectionSettings,
    tables: TableSelection,
    rows: RowShape,
    slot: Option[String],
    createsSlot: Boolean,
    publication: Option[String],
    createsPublication: Boolean,
    starting: CdcStart,
    inChunks: Boolean,
    chunkRows: Long,
    preimages: Boolean,
    onTruncate: OnTruncate,
    onSchemaChange: OnSchemaChange,
    acceptChange: Option[String],
    private[cdc] val comparisons: Option[ComparisonPlan],
    operations: Set[String],
    heartbeat: Duration,
    maxSlotLag: Option[Long],
    maxStandbyLag: Option[Long],
    maxJournalBytes: Long,
    retry: RetrySettings,
    numPartitions: Option[Int],
    @transient limit: ReadLimit,
    failOnDataLoss: Boolean,
    source: String,
    eventTimeColumn: Option[String]) {

  private[cdc] def server: CaptureServer = new CaptureServer(connection, retry)

  /** As in [[io.epochal.kit.source.journal.FeedRows]]. */
  def lost(from: Long, until: Long, reason: String): String =
    s"${SourceOptions.lost(source, failOnDataLoss)(from, until, reason)} They are skipped (failOnDataLoss=false)."
}

object CdcOptions extends OptionList {
  val Format = "epochal-cdc"

  private val start: OptionType[CdcStart] =
    new OptionType[CdcStart](
      "initial/latest/position",
      "initial, latest or a log position such as 0/16B3748",
      "latest")(CdcStart.read, CdcStart.show)

  private val slotName: OptionType[String] =
    new OptionType[String]("string", "1 to 63 lower-case letters, digits and underscores", "orders")(
      text => Option.when(text.matches("[a-z0-9_]{1,63}"))(text),
      identity)

  private val publicationName: OptionType[String] =
    new OptionType[String]("string", "a name of 1 to 63 bytes", "orders")(
      text => Option.when(text.nonEmpty && text.getBytes(UTF_8).length <= 63 && !text.contains('\u0000'))(text),
      identity)

  private val InChunks = "chunks"

  val Url = option("url", OptionType.string, sample = Some("jdbc:postgresql://127.0.0.1/shop"), required = true)(
    "JDBC URL of the server itself, not of a pooler: jdbc:postgresql:.")
  val DbTable = option("dbtable", TableSelection.Type, sample = Some("public.orders"), required = true)(
    "Table to capture, also a partitioned one. Several, as public.orders,public.items or public.*: the option rows sets their form.")
  val Rows = option("rows", OptionType.choice(Seq[RowShape](RowShape.Json, RowShape.Typed))(_.name))(
    "Rows of several tables: json (before and after a change), or typed, a STRUCT column for each table. Unset: json for several tables; for one table, its own columns.")
  ConnectionOptions.Login.foreach(also(_))
  also(ConnectionOptions.Properties): Unit
  val Slot = option("slot", slotName, sample = Some("orders"))(
    "Replication slot, used by this query alone. Unset: a name made of the table's and the checkpoint's.")
  val CreateSlot = option("createSlot", OptionType.boolean, Some(true))("Whether a missing slot is created.")
  val Publication = option("publication", publicationName, sample = Some("orders"))(
    "Publication with the table. Unset: the slot's name.")
  val CreatePublication = option("createPublication", OptionType.boolean, Some(true))(
    "Whether a missing publication is created, which needs the table's owner.")
  val StartingOffset = option("startingOffset", start, Some(CdcStart.Initial))(
    "Where a new query begins: initial (all rows, then all changes), latest, or a log position that the slot still has.")
  val Snapshot = option("snapshot", OptionType.oneOf("whole", InChunks), Some("whole"))(
    "How tables are loaded at first: each in one snapshot (whole), or in chunks while changes are delivered. Tables without a suitable key are loaded whole.")
  val ChunkRows = option("chunkRows", OptionType.long(1), Some(500000L))(
    "Maximum rows of a chunk, when a table is loaded in chunks or verified.")
  val Preimages = option("preimages", OptionType.boolean, Some(false))(
    "Whether an update also delivers the row before it, as update_preimage; needs REPLICA IDENTITY FULL.")
  val Truncates = option("onTruncate", OptionType.choice(OnTruncate.all)(_.name), Some(OnTruncate.Fail))(
    "TRUNCATE fails the query, becomes a row (emit), or is ignored.")
  val SchemaChange =
    option("onSchemaChange", OptionType.choice(OnSchemaChange.all)(_.name), Some(OnSchemaChange.Fail))(
      "After the columns of a table have changed, a start fails, adopts added nullable columns, or follows all changes: it reloads the table where the log lacks values (follow).")
  val AcceptChange = option("acceptChange", OptionType.string, sample = Some("5f0c2a91"))(
    "Accepts one change that the log does not show: the value in the hint of CAPTURE_CHANGED.")
  val Verify =
    option("verify", OptionType.choice(Seq[ReloadPurpose](ReloadPurpose.Verify, ReloadPurpose.Repair))(_.name))(
      "Compares tables with their replicas (compare), and corrects those that differ (repair): on request, and every verifyInterval. Unset: requests are ignored.")
  val VerifyInterval = option("verifyInterval", OptionType.duration, sample = Some("1 day"))(
    "How often each table is compared with its replica. Unset: only on request.")
  val VerifyRowsPerSecond = option("verifyRowsPerSecond", OptionType.long(1), Some(50000L))(
    "Maximum rows per second that a comparison reads, on average.")
  val Operations = option("operations", OptionType.names, Some(PublicationFacts.Operations))(
    "Operations that the publication must publish. Without update and delete the stream has inserts only, so the target is not a replica.")
  val Heartbeat = option("heartbeatInterval", OptionType.duration, Some(Duration.ofSeconds(30)))(
    "How often the slot moves on while the table does not change.")
  val MaxSlotLag = option("maxSlotLag", OptionType.bytes, sample = Some("10g"))(
    "Bytes of log that the server may keep for the slot; beyond them the query fails. Unset: no limit.")
  val MaxStandbyLag = option("maxStandbyLag", OptionType.bytes, sample = Some("256m"))(
    "Bytes of log that a standby may be behind; while one is further behind, no reload, comparison or chunk begins. Unset: no limit.")
  val MaxJournalBytes = option("maxJournalBytes", OptionType.bytes, Some(1L << 30))(
    "Maximum undelivered bytes in the checkpoint; beyond it the server keeps the changes.")
  val MaxBytes = option("maxBytesPerBatch", OptionType.bytes, sample = Some("64m"))(
    "Maximum bytes of changes in a micro-batch. Unset: all available ones.")
  val NumPartitions =
    option("numPartitions", OptionType.int(1))("Partitions per batch. Unset: Spark's default parallelism.")

  val group: OptionGroup = OptionGroup(
    Format,
    "The changes of a PostgreSQL table, from its write-ahead log. Micro-batch, continuous and real-time reads.",
    all ++ SourceOptions.all ++ RetryOptions.all
  )

  private def comparisons(values: OptionValues): Option[ComparisonPlan] =
    values.get(Verify).map(ComparisonPlan(_, values.get(VerifyInterval), values(VerifyRowsPerSecond)))

  def read(raw: Map[String, String]): Either[EpochalException, CdcOptions] =
    for {
      values <- group.parse(raw)
      _ <- Either.cond(
        DriverRisks.scheme(values(Url)) == "postgresql",
        (),
        group.invalid(Url, io.epochal.kit.database.JdbcUrl.shown(values(Url)), "a URL of PostgreSQL"))
      rows = values.get(Rows).getOrElse(if (values(DbTable).isSeveral) RowShape.Json else RowShape.OfTable)
      _ <- values.consistent(rows != RowShape.Json || !values.isSet(SchemaChange))(
        s"rows as JSON, and ${SchemaChange.reference}",
        s"JSON has the columns that its table had at that time: leave ${SchemaChange.reference} out, or set {option:rows=typed}.")
      more = Seq(VerifyInterval, VerifyRowsPerSecond).find(values.isSet(_))
      _ <- values.consistent(values.isSet(Verify) || more.isEmpty)(
        s"${more.fold("")(_.reference)} without ${Verify.reference}",
        "Set {option:verify=compare}, too.")
      unknown = values(Operations).diff(PublicationFacts.Operations)
      _ <- Either.cond(
        unknown.isEmpty,
        (),
        group.invalid(Operations, unknown.mkString(","), s"some of ${PublicationFacts.Operations.mkString(", ")}"))
      connection <- ConnectionOptions.settings(values, values(Url))
    } yield CdcOptions(
      connection,
      values(DbTable),
      rows,
      values.get(Slot),
      values(CreateSlot),
      values.get(Publication),
      values(CreatePublication),
      values(StartingOffset),
      values(Snapshot) == InChunks,
      values(ChunkRows),
      values(Preimages),
      values(Truncates),
      values(SchemaChange),
      values.get(AcceptChange),
      comparisons(values),
      // What is ignored need not be published.
      values(Operations).toSet -- Option.when(values(Truncates) == OnTruncate.Ignore)("truncate"),
      values(Heartbeat),
      values.get(MaxSlotLag),
      values.get(MaxStandbyLag),
      values(MaxJournalBytes),
      RetryOptions.settings(values),
      values.get(NumPartitions),
      // There is always a limit: without one, Trigger.Once would look like other triggers, and end before the first change.
      ReadLimits.of(values, Some(values.get(MaxBytes).fold(ReadLimit.maxRows(Long.MaxValue))(ReadLimit.maxBytes(_)))),
      values(SourceOptions.FailOnDataLoss),
      values.get(SourceOptions.SourceId).getOrElse {
        // Tables can be added and dropped.
        val slot = values.get(Slot).filter(_ => rows == RowShape.Typed)
        s"${connection.place}#${slot.fold(values(DbTable).toString)(name => s"slot $name")}"
      },
      values.get(SourceOptions.EventTimeColumn)
    )
}
