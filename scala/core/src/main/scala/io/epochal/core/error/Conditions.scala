package io.epochal.core.error

/** All conditions, in one place. A name, once released, keeps its meaning. */
object Conditions
    extends HttpConditions
    with RepairConditions
    with ProgressConditions
    with IngestConditions
    with ConnectorConditions
    with DatabaseConditions {

  // Options and schemas: refused before a query starts.
  val OptionUnknown = Condition("OPTION_UNKNOWN", "<format> has no option '<option>'.", "<suggestion>")
  val OptionRequired =
    Condition("OPTION_REQUIRED", "<format> needs the option '<option>' (<doc>).", "Set it like this: <example>.")
  val OptionInvalid = Condition(
    "OPTION_INVALID",
    "The option '<option>' of <format> is '<value>', which is not <expected>.",
    "Set it like this: <example>."
  )
  val OptionConflict =
    Condition("OPTION_CONFLICT", "<format> was given options that exclude each other: <options>.", "<suggestion>")
  val SchemaRequired = Condition(
    "SCHEMA_REQUIRED",
    "<format> was given no schema.",
    "Give one with .schema(\"id INT, name STRING\") or the option 'schema', or set inferSchema=true to infer it from the first page."
  )
  val SchemaInferenceFailed = Condition(
    "SCHEMA_INFERENCE_FAILED",
    "The schema of <format> cannot be inferred from the first page of <url>: <reason>.",
    "Give one with .schema(\"id INT, name STRING\") or the option 'schema'."
  )
  val SchemaChanged = Condition(
    "SCHEMA_CHANGED",
    "The schema that <format> infers now is <found>, but the query began with <expected>.",
    "Leave inferSchema out and give the first one, with .schema(\"<expected>\") or the option 'schema'; a new schema needs a new checkpoint."
  )
  val SchemaInvalid =
    Condition(
      "SCHEMA_INVALID",
      "The schema '<schema>' of <format> cannot be used: <reason>.",
      "Write it as DDL, like \"id INT, name STRING\"."
    )
  val SchemaUnsupported = Condition(
    "SCHEMA_UNSUPPORTED",
    "<format> has the fixed columns <columns>, but was given the schema <schema>.",
    "Leave the schema out."
  )

  val SecretUnreadable = Condition(
    "SECRET_UNREADABLE",
    "The secret cannot be read from <option>: <reason>.",
    "The driver reads it, not the machine that submits the job: put it where the driver runs. A variable must be set before the driver's JVM starts."
  )

  val TlsInvalid = Condition(
    "TLS_INVALID",
    "The file of <option>=<path> cannot be used: <reason>.",
    "The driver reads it: put it where the driver runs. Certificates and keys are in PEM, keys in PKCS#8."
  )

  val SignerInvalid = Condition(
    "SIGNER_INVALID",
    "The signer <class> cannot be used: <reason>.",
    "signerClass must be an io.epochal.kit.RequestSigner with a public constructor without parameters, in a jar of driver and executors (spark.jars or --jars)."
  )

  val OptionNotAllowed = Condition(
    "OPTION_NOT_ALLOWED",
    "'<option>' is not allowed on this driver: <reason>.",
    "Whoever runs the driver can allow it when it is started, and no session can: --conf <setting>=<entry>. See docs/security.md."
  )

  // Offsets and checkpoints.
  val OffsetVersionUnsupported = Condition(
    "OFFSET_VERSION_UNSUPPORTED",
    "The checkpoint holds an offset of <format> in version <found>, but this release reads up to version <supported>.",
    "Run the release of Epochal that wrote the checkpoint, or a newer one."
  )
  val OffsetInvalid = Condition(
    "OFFSET_INVALID",
    "The checkpoint holds '<offset>', which is not an offset of <format>: <reason>.",
    "Point the query at the checkpoint that belongs to it; a file of the checkpoint may be damaged."
  )
  val SourceChanged = Condition(
    "SOURCE_CHANGED",
    "The checkpoint's offsets belong to the source '<found>', but the query now reads '<expected>'.",
    "Use a new checkpoint for the new source. If both are the same data (a host that moved, a key that was renewed), set the option 'sourceId' to '<sourceId>'."
  )
  val DataLoss = Condition(
    "DATA_LOSS",
    "Rows of <source> from offset <from> to <until> are gone: <reason>.",
    "Find out what removed them. To go on without them set failOnDataLoss=false: they are skipped, with a warning."
  )

  // What a mode of Spark cannot do here.
  val TriggerUnsupported =
    Condition("TRIGGER_UNSUPPORTED", "<format> does not support the <trigger> trigger: <reason>.", "Use <instead>.")
  val ModeUnsupported = Condition("MODE_UNSUPPORTED", "<format> cannot <mode>: <reason>.", "<suggestion>")

  // Databases: checks before the start.
  val RowTooLarge = Condition(
    "ROW_TOO_LARGE",
    "A row is larger than <url> takes in one statement, in <step>: <reason>.",
    "Raise <setting> of the server, or filter such rows out in the query. It is one row alone that is too large: several rows are sent in a statement only as far as they fit."
  )
  val TooManyConnections = Condition(
    "TOO_MANY_CONNECTIONS",
    "<url> had no free connection for <step>, in all attempts: <reason>.",
    "<advice>"
  )
  val SinkBlocked = Condition(
    "SINK_BLOCKED",
    "The sink '<sinkId>' in <url> could not be claimed: each attempt waited <waited> for <blockers>.",
    "Wait until that transaction has ended, or end it (PostgreSQL: SELECT pg_terminate_backend(number); MySQL, MariaDB: KILL number), then start the query again. Sessions of this sink's own older runs are ended automatically."
  )
  val ObjectUntrusted = Condition(
    "OBJECT_UNTRUSTED",
    "The role '<role>' does not trust the table <object>, in which the sink keeps what is its own: it <problem>.",
    "Nothing was written, and nothing of the table was run. <remedy>. docs/security.md says whom the sink trusts."
  )
  val TableMissing = Condition(
    "TABLE_MISSING",
    "The table <table> does not exist in <url>.",
    "Create it, set createTable=true, or correct 'dbtable'<nearest>."
  )
  val ColumnMissing = Condition(
    "COLUMN_MISSING",
    "The query's column '<column>' is not in the table <table><mapped>, which has <columns>.",
    "Give it the name that it has in the table (columnMap<nearest>), drop it in the query, or let the sink add it (addColumns=true)."
  )
  val ColumnRequired = Condition(
    "COLUMN_REQUIRED",
    "The table <table> needs a value for '<column>' (NOT NULL without a default), but the query has no such column.",
    "Add the column to the query, or give it a default in the table."
  )
  val ColumnTypeMismatch = Condition(
    "COLUMN_TYPE_MISMATCH",
    "The query's column '<column>' is <sparkType>, but the table <table> has <columnType>.",
    "<suggestion>"
  )
  val TypeUnsupported = Condition(
    "TYPE_UNSUPPORTED",
    "The query's column '<column>' is <sparkType>, for which <database> has no column type here.",
    "Convert it in the query: to_json(<column>) or CAST(<column> AS STRING)."
  )
  val KeyColumnsRequired = Condition(
    "KEY_COLUMNS_REQUIRED",
    "<mode> needs 'keyColumns', which name the rows to replace.",
    "Set keyColumns to the columns of the key, like this: keyColumns=id."
  )
  val KeyNotUnique = Condition(
    "KEY_NOT_UNIQUE",
    "The table <table> has no primary key or unique index on exactly (<columns>).",
    "Create one: CREATE UNIQUE INDEX epochal_key ON <table> (<columns>)."
  )
  val KeyComparisonMismatch = Condition(
    "KEY_COMPARISON_MISMATCH",
    "The key column '<column>' of <table> compares values by its <comparison>, which treats some values as equal that are different in Spark: one row would replace another.",
    "Declare the column with <exact>, or set keyComparison=database if such values are the same key to you."
  )
  val DuplicateKeys = Condition(
    "DUPLICATE_KEYS",
    "Epoch <epoch> holds <rows> rows with the same key (<columns>), and nothing says which of them is the last.",
    "Set orderColumn (the greatest wins), or aggregate by the key first."
  )

  // Rows and epochs at the sink.
  val BadRow = Condition(
    "BAD_ROW",
    "Row <row> of partition <partition> in epoch <epoch> cannot be stored in <table>: column '<column>' of type <valueType>: <reason>.",
    "Nothing of the epoch was written. Correct the row in the query or the column in the table, or set deadLetterTable to put such rows aside."
  )
  val TooManyBadRows = Condition(
    "TOO_MANY_BAD_ROWS",
    "Epoch <epoch> holds more bad rows than <limit>. One of them, row <row> of partition <partition>, column '<column>': <reason>.",
    "Nothing of the epoch was written, nor to deadLetterTable. Correct the query, or raise maxBadRows."
  )
  val EpochTooLarge = Condition(
    "EPOCH_TOO_LARGE",
    "Epoch <epoch> holds more than <limit> bytes, which the inline transport cannot carry.",
    "Leave 'transport' out: larger epochs then go by staging, or by files in the checkpoint's directory.",
    Some(
      "Leave 'transport' out: a larger batch then goes by staging, or by files. For files on a cluster set spillDirectory to a directory that the driver and all executors reach.")
  )
  val EpochGap = Condition(
    "EPOCH_GAP",
    "The query commits epoch <epoch> to sink '<sinkId>', but the ledger's last epoch is <last>: it lacks <missing> epochs.",
    "The database was restored or failed over to an earlier state. Spark never sends those epochs again: go back to epoch <last> there too, with a copy of the checkpoint from that time or with: epochal checkpoint rewind CHECKPOINT --to <last>"
  )
  val EpochRegressed = Condition(
    "EPOCH_REGRESSED",
    "The query commits epoch <epoch> to sink '<sinkId>', but the ledger already has epoch <last>.",
    "The checkpoint was rewound or is an old copy. Use the newest one, or restore the database to epoch <epoch> too."
  )
  val EpochOffsetsChanged = Condition(
    "EPOCH_OFFSETS_CHANGED",
    "Epoch <epoch> of sink '<sinkId>' is in the ledger with other source offsets (<ledgerHash>) than the checkpoint has now (<checkpointHash>).",
    "Nothing was written. Either the checkpoint was edited or rewound: start the query from the original one. Or two queries share a sinkId: give each its own."
  )
  val EpochContentChanged = Condition(
    "EPOCH_CONTENT_CHANGED",
    "Epoch <epoch> of sink '<sinkId>' is in the ledger with <ledgerRows> rows (digest <ledgerDigest>), but its replay has <rows> rows (digest <digest>), and its offsets cannot be read to decide whether it is the same.",
    "If the plan is not repeatable (rand(), a UDF), set onEpochMismatch=keep: what was written first stays."
  )
  val QueryChanged = Condition(
    "QUERY_CHANGED",
    "The ledger knows sink '<sinkId>' from another query (<known>, last epoch <last>); this one is <queryId>.",
    "With a new checkpoint a query reads its source from the beginning, and adds its rows to those in the table. If that is meant, or nothing was written yet, set onNewQuery=append:<accept>, which accepts this one change. To have its rows in place of all that are in the table, set onNewQuery=replace. If this is another job, give it a sinkId of its own."
  )
  val ReplacementIncomplete = Condition(
    "REPLACEMENT_INCOMPLETE",
    "Query <queryId> cannot replace query <known> in sink '<sinkId>': <reason>, and does not send that again.",
    "Nothing was written. Start the query with a new checkpoint: it then reads its source from the beginning, and its first epoch replaces the rows. Or start the other query again, from its own checkpoint."
  )
  val LedgerEmpty = Condition(
    "LEDGER_EMPTY",
    "The query is at epoch <epoch>, but the ledger has nothing of sink '<sinkId>'.",
    "The ledger was lost, or sinkId, url or dbtable changed. Check the table: if the rows of epoch <epoch> are there already, set onLedgerEmpty=skip:<epoch>; if they are not, and the earlier ones are where you want them, set onLedgerEmpty=write:<epoch>."
  )
  val TargetShared = Condition(
    "TARGET_SHARED",
    "The table <table> is already written by sink '<other>'; this query is sink '<sinkId>'.",
    "If both are meant to write there, set onNewQuery=append:<accept>; if this is the same job, set its sinkId to '<other>'."
  )
  val TargetChanged = Condition(
    "TARGET_CHANGED",
    "Sink '<sinkId>' has written to <known> so far, and now writes to <table>.",
    "A table that was dropped and recreated counts as a different table. If that is meant, set onNewQuery=append:<accept>, which accepts this one change."
  )
  val TriggerChanged = Condition(
    "TRIGGER_CHANGED",
    "Epoch <epoch> of sink '<sinkId>' was written under the <known> trigger, and its replay runs under <trigger>.",
    "Run the query once more with the <known> trigger, let it commit, and only then change the trigger."
  )
  val SinkFenced = Condition(
    "SINK_FENCED",
    "This run of sink '<sinkId>' (generation <generation>) was replaced by a newer run (generation <current>).",
    "Another driver runs this query now; stop one of them. This run has written nothing since then."
  )
  val RowsDropped = Condition(
    "ROWS_DROPPED",
    "Epoch <epoch> is not stored in <table> as it was sent: <found>.",
    "Nothing of the epoch was written. Find the trigger, rule or row-level security policy of the table that does it, and disable it for this user."
  )
  val StagingLost = Condition(
    "STAGING_LOST",
    "Rows that partition <partition> of epoch <epoch> loaded are missing: <found> of <sent> rows are in <place>.",
    "A restart of the server empties staging tables. Nothing of the epoch was written: start the query again."
  )
  val RowFileLost = Condition(
    "ROW_FILE_LOST",
    "The rows of partition <partition> of epoch <epoch> cannot be read from <file> in <directory>: <reason>.",
    "Driver and executors must reach the same directory: put the checkpoint on a shared file system, or set spillDirectory to such a directory. Nothing of the epoch was written: start the query again.",
    Some(
      "Driver and executors must reach the same directory: set spillDirectory to one. Nothing of the batch was written: write it again.")
  )
  val CommitMessageCorrupted = Condition(
    "COMMIT_MESSAGE_CORRUPTED",
    "The rows of epoch <epoch>, partition <partition> reached the driver as <found>, but the task sent <sent>.",
    "Nothing was written. Start the query again; if it happens again, report it."
  )

  val CommitUnknown = Condition(
    "COMMIT_UNKNOWN",
    "The connection to <url> was lost while epoch <epoch> was being committed, and since then the database could not be asked whether it was committed: <reason>.",
    "Start the query again on its checkpoint: the ledger shows whether the epoch is there, so it is neither lost nor written twice.",
    Some("A batch has no ledger: check whether its rows are in the table before you write it again.")
  )
  val LedgerVersionUnsupported = Condition(
    "LEDGER_VERSION_UNSUPPORTED",
    "The ledger in <url> holds sink '<sinkId>' in version <found>, but this release reads up to version <supported>.",
    "Run the release of Epochal that wrote it, or a newer one.")
  val QueryNotFound = Condition(
    "QUERY_NOT_FOUND",
    "The running query <queryId> cannot be found in this Spark session, so its output mode and trigger are not known: <reason>.",
    "Run a Spark release that Epochal supports (4.0 to 4.3), and start the query with writeStream on a classic or Connect session.")
  val SparkUnsupported = Condition(
    "SPARK_UNSUPPORTED",
    "This is Spark <found>, but Epochal runs on Spark <supported>.",
    "Install one of these: pip install 'pyspark>=4.0,<4.4', or a distribution of Spark with Scala 2.13."
  )

  /** In the order of the documentation. */
  val all: Seq[Condition] = Seq(
    OptionUnknown,
    OptionRequired,
    OptionInvalid,
    OptionConflict,
    SchemaRequired,
    SchemaInferenceFailed,
    SchemaChanged,
    SchemaInvalid,
    SchemaUnsupported,
    SecretUnreadable,
    TlsInvalid,
    SignerInvalid,
    OptionNotAllowed,
    CheckpointNotFound,
    OffsetVersionUnsupported,
    OffsetInvalid,
    SourceChanged,
    DataLoss,
    TriggerUnsupported,
    ModeUnsupported,
    HttpUnreachable,
    HttpTimeout,
    HttpTooSlow,
    HttpLimitExceeded,
    HttpStatus,
    OAuthRefused,
    HttpResponseTooLarge,
    HttpBodyInvalid,
    RecordsNotFound,
    CsvHeaderMismatch,
    PaginationMismatch,
    PaginationLoop,
    ContinuationMissing,
    ListIncomplete,
    ListShifted,
    TooManyPages,
    LinkRefused,
    JournalUnwritable,
    JournalNotShared,
    ResponseFileFailed,
    RecordInvalid,
    DatabaseUnreachable,
    LoginRefused,
    DriverMissing,
    DatabaseError,
    DatabaseFileReplaced,
    RowTooLarge,
    TooManyConnections,
    SinkBlocked,
    ObjectUntrusted,
    TableMissing,
    ColumnMissing,
    ColumnRequired,
    ColumnTypeMismatch,
    TypeUnsupported,
    KeyColumnsRequired,
    KeyNotUnique,
    KeyComparisonMismatch,
    DuplicateKeys,
    BadRow,
    TooManyBadRows,
    EpochTooLarge,
    EpochGap,
    EpochRegressed,
    EpochOffsetsChanged,
    EpochContentChanged,
    QueryChanged,
    ReplacementIncomplete,
    LedgerEmpty,
    TargetShared,
    TargetChanged,
    TriggerChanged,
    SinkFenced,
    RowsDropped,
    StagingLost,
    RowFileLost,
    CommitMessageCorrupted,
    RowRefused,
    TooManyRefusedRows,
    RowResultsInvalid,
    OrderNotRepeatable,
    EpochPartitioningChanged,
    DeadLettersUnwritable,
    CommitUnknown,
    LedgerVersionUnsupported,
    LedgerNotFound,
    SinkNotFound,
    RepairRefused,
    QueryNotFound,
    SparkUnsupported
  ) ++ ofProgress ++ ofIngest ++ ofConnectors
}
