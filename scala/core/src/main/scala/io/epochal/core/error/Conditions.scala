package io.epochal.core.error

/** All conditions, in one place. A name, once released, keeps its meaning. */
object Conditions extends HttpConditions {

  // Options and schemas: refused before a query starts.
  val UnknownOption = Condition("UNKNOWN_OPTION", "<format> has no option '<option>'.", "<suggestion>")
  val OptionRequired =
    Condition("OPTION_REQUIRED", "<format> needs the option '<option>' (<doc>).", "Set it, for example <example>.")
  val OptionInvalid = Condition(
    "OPTION_INVALID",
    "The option '<option>' of <format> is '<value>', which is not <expected>.",
    "Set it to <expected>, for example <example>."
  )
  val OptionsConflict =
    Condition("OPTIONS_CONFLICT", "<format> was given options that exclude each other: <options>.", "<suggestion>")
  val SchemaRequired = Condition(
    "SCHEMA_REQUIRED",
    "<format> was given no schema.",
    "Give one with .schema(\"id INT, name STRING\") or the option 'schema'; inferSchema=true looks at the first page."
  )
  val SchemaNotInferred = Condition(
    "SCHEMA_NOT_INFERRED",
    "The schema of <format> cannot be inferred from the first page of <url>: <reason>.",
    "Give one with .schema(\"id INT, name STRING\") or the option 'schema'."
  )
  val SchemaChanged = Condition(
    "SCHEMA_CHANGED",
    "The schema that <format> infers now is <found>, but the query began with <expected>.",
    "Go on with the first one, as the option 'schema' in place of inferSchema; a new schema needs a new checkpoint."
  )
  val SchemaInvalid =
    Condition(
      "SCHEMA_INVALID",
      "The schema '<schema>' of <format> cannot be used: <reason>.",
      "Write it as DDL, for example \"id INT, name STRING\"."
    )
  val SchemaUnsupported = Condition(
    "SCHEMA_UNSUPPORTED",
    "<format> has the fixed columns <columns>, but was given the schema <schema>.",
    "Leave .schema(...) out."
  )

  val SecretUnreadable = Condition(
    "SECRET_UNREADABLE",
    "The secret cannot be read from <option>: <reason>.",
    "The driver reads it, not the machine that submits the job: put it where the driver runs. A variable counts as it was when the driver's JVM started."
  )

  val TlsInvalid = Condition(
    "TLS_INVALID",
    "The file of <option>=<path> cannot be used: <reason>.",
    "The driver reads it: put it where the driver runs. Certificates and keys are in PEM, keys in PKCS#8."
  )

  val SignerInvalid = Condition(
    "SIGNER_INVALID",
    "The signer <class> cannot be used: <reason>.",
    "It is an io.epochal.kit.RequestSigner with a public constructor that takes nothing, in a jar of driver and executors (spark.jars or --jars)."
  )

  // Offsets and checkpoints.
  val OffsetVersion = Condition(
    "OFFSET_VERSION",
    "The checkpoint holds an offset of <format> in version <found>, but this release reads up to version <supported>.",
    "Run the release of Epochal that wrote the checkpoint, or a newer one."
  )
  val OffsetInvalid = Condition(
    "OFFSET_INVALID",
    "The checkpoint holds '<offset>', which is not an offset of <format>: <reason>.",
    "Point the query at the checkpoint that belongs to it; a file of the checkpoint may be damaged."
  )
  val OffsetSourceChanged = Condition(
    "OFFSET_SOURCE_CHANGED",
    "The checkpoint's offsets belong to the source '<found>', but the query now reads '<expected>'.",
    "Use a new checkpoint for the new source. If both are the same data (a host that moved, a key that was renewed), set sourceId to the name in the checkpoint, without the format before it."
  )
  val DataLoss = Condition(
    "DATA_LOSS",
    "Rows of <source> from offset <from> to <until> are gone: <reason>.",
    "Find out what removed them. With failOnDataLoss=false the query skips what is gone and goes on with a warning."
  )

  // What a mode of Spark cannot do here.
  val TriggerUnsupported =
    Condition("TRIGGER_UNSUPPORTED", "<format> does not support the <trigger> trigger: <reason>.", "Use <instead>.")
  val ModeUnsupported = Condition("MODE_UNSUPPORTED", "<format> cannot <mode>: <reason>.", "<suggestion>")

  // Databases: checks before the start.
  val DatabaseUnreachable = Condition(
    "DATABASE_UNREACHABLE",
    "The database <url> could not be reached: <reason>.",
    "Check url, user and password, and that the server is running."
  )
  val DriverMissing = Condition(
    "DRIVER_MISSING",
    "No JDBC driver was found for <url>: <reason>.",
    "Put the driver's jar on the class path (spark.jars or --packages<package>); the option 'driver' names its class."
  )
  val DatabaseError = Condition(
    "DATABASE_ERROR",
    "<url> failed in <step>: SQLSTATE <state>, <reason>.",
    "Nothing of this epoch was written. Correct the cause and start the query again on its checkpoint."
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
    "Cast the column in the query, for example CAST(<column> AS <suggestion>)."
  )
  val TypeUnsupported = Condition(
    "TYPE_UNSUPPORTED",
    "The query's column '<column>' is <sparkType>, which <database> has no type for here.",
    "Cast it in the query, for example with to_json(<column>) or CAST(<column> AS STRING)."
  )
  val KeyColumnsRequired = Condition(
    "KEY_COLUMNS_REQUIRED",
    "<mode> needs 'keyColumns', which name the rows to replace.",
    "Set keyColumns=id, or several names with commas."
  )
  val KeyNotUnique = Condition(
    "KEY_NOT_UNIQUE",
    "The table <table> has no primary key or unique index on exactly (<columns>).",
    "Create one, for example CREATE UNIQUE INDEX ON <table> (<columns>)."
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
    "Epoch <epoch> holds more bad rows than <limit>. The first one known: row <row> of partition <partition>, column '<column>': <reason>.",
    "Nothing of the epoch was written, nor to deadLetterTable. Correct the query, or raise maxBadRows."
  )
  val EpochTooLarge = Condition(
    "EPOCH_TOO_LARGE",
    "Epoch <epoch> holds more than <limit> bytes, which the inline transport cannot carry.",
    "Lower the source's maxRowsPerBatch, or raise inlineMaxBytes together with spark.driver.maxResultSize and the driver's memory."
  )
  val EpochGap = Condition(
    "EPOCH_GAP",
    "The query commits epoch <epoch> to sink '<sinkId>', but the ledger's last epoch is <last>: <missing> epochs are missing.",
    "The database was restored or failed over to an earlier state. Spark never sends those epochs again: restore the checkpoint of epoch <last> with it."
  )
  val EpochRegressed = Condition(
    "EPOCH_REGRESSED",
    "The query commits epoch <epoch> to sink '<sinkId>', but the ledger already has epoch <last>.",
    "The checkpoint was rewound or is an old copy. Use the newest one, or restore the database to epoch <epoch> too."
  )
  val EpochRangeChanged = Condition(
    "EPOCH_RANGE_CHANGED",
    "Epoch <epoch> of sink '<sinkId>' is in the ledger with other source offsets (<ledgerHash>) than the checkpoint has now (<checkpointHash>).",
    "Two runs gave this epoch different rows: a checkpoint was edited, or two queries share a sinkId. Nothing was written."
  )
  val EpochContentChanged = Condition(
    "EPOCH_CONTENT_CHANGED",
    "Epoch <epoch> of sink '<sinkId>' is in the ledger with <ledgerRows> rows (digest <ledgerDigest>), but came again with <rows> rows (digest <digest>), and its offsets cannot be read to tell whether it is the same.",
    "If the plan is not repeatable (rand(), a UDF), onEpochMismatch=keep keeps the first application."
  )
  val NewQuery = Condition(
    "NEW_QUERY",
    "The ledger knows sink '<sinkId>' from another query (<known>, last epoch <last>); this one is <queryId>.",
    "With a new checkpoint a query reads its source from the beginning, and its rows come to those that are there. If that is meant, or nothing was written yet, set onNewQuery=append for one start. If this is another job, give it a sinkId of its own."
  )
  val LedgerEmpty = Condition(
    "LEDGER_EMPTY",
    "The query is at epoch <epoch>, but the ledger has nothing of sink '<sinkId>'.",
    "The ledger was lost, or sinkId, url or dbtable changed. If the earlier epochs are where you want them, set onNewQuery=append."
  )
  val TargetShared = Condition(
    "TARGET_SHARED",
    "The table <table> is already written by sink '<other>'; this query is sink '<sinkId>'.",
    "If both are meant to write there, set onNewQuery=append; if this is the same job, set its sinkId to '<other>'."
  )
  val TargetChanged = Condition(
    "TARGET_CHANGED",
    "Sink '<sinkId>' has written to <known> so far, and now writes to <table>.",
    "A table that was dropped and made again counts as another one. If that is meant, set onNewQuery=append."
  )
  val TriggerChanged = Condition(
    "TRIGGER_CHANGED",
    "Epoch <epoch> of sink '<sinkId>' was written under the <known> trigger and comes again under <trigger>.",
    "Run the query once more with the <known> trigger, let it commit, and change the trigger then."
  )
  val SinkFenced = Condition(
    "SINK_FENCED",
    "This run of sink '<sinkId>' (generation <generation>) was replaced by a newer run (generation <current>).",
    "Another driver runs this query now; stop one of them. Nothing was written by this run since."
  )
  val RowsDropped = Condition(
    "ROWS_DROPPED",
    "The database stored <stored> of the <sent> rows of epoch <epoch> in <table>.",
    "A trigger, a rule or row security swallows rows. Nothing of the epoch was kept; disable it for this user."
  )
  val StagingLost = Condition(
    "STAGING_LOST",
    "What partition <partition> of epoch <epoch> had brought to the database is not there: <found> of <sent> rows in <place>.",
    "A restart of the server empties staging tables. Nothing of the epoch was kept; start the query again and it is repeated."
  )
  val MessageCorrupted = Condition(
    "MESSAGE_CORRUPTED",
    "The rows of epoch <epoch>, partition <partition> reached the driver as <found>, but the task sent <sent>.",
    "Nothing was written. Start the query again; if it happens again, report it."
  )

  val CommitUnknown = Condition(
    "COMMIT_UNKNOWN",
    "The connection to <url> was lost while epoch <epoch> was being committed, and the database could not be asked since whether it has it: <reason>.",
    "Start the query again on its checkpoint: the ledger tells, and the epoch is neither lost nor written twice. (A batch write has no ledger: look into the table.)")
  val LedgerVersion = Condition(
    "LEDGER_VERSION",
    "The ledger in <url> holds sink '<sinkId>' in version <found>, but this release reads up to version <supported>.",
    "Run the release of Epochal that wrote it, or a newer one.")
  val QueryUnknown = Condition(
    "QUERY_UNKNOWN",
    "The running query <queryId> cannot be found in this Spark session, so its output mode and trigger are not known: <reason>.",
    "Run a Spark release that Epochal supports (4.0 to 4.3), and start the query with writeStream on a classic or Connect session.")

  /** In the order of the documentation. */
  val all: Seq[Condition] = Seq(
    UnknownOption,
    OptionRequired,
    OptionInvalid,
    OptionsConflict,
    SchemaRequired,
    SchemaNotInferred,
    SchemaChanged,
    SchemaInvalid,
    SchemaUnsupported,
    SecretUnreadable,
    TlsInvalid,
    SignerInvalid,
    OffsetVersion,
    OffsetInvalid,
    OffsetSourceChanged,
    DataLoss,
    TriggerUnsupported,
    ModeUnsupported,
    HttpUnreachable,
    HttpTimeout,
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
    ResponseNotKept,
    RecordInvalid,
    DatabaseUnreachable,
    DriverMissing,
    DatabaseError,
    TableMissing,
    ColumnMissing,
    ColumnRequired,
    ColumnTypeMismatch,
    TypeUnsupported,
    KeyColumnsRequired,
    KeyNotUnique,
    DuplicateKeys,
    BadRow,
    TooManyBadRows,
    EpochTooLarge,
    EpochGap,
    EpochRegressed,
    EpochRangeChanged,
    EpochContentChanged,
    NewQuery,
    LedgerEmpty,
    TargetShared,
    TargetChanged,
    TriggerChanged,
    SinkFenced,
    RowsDropped,
    StagingLost,
    MessageCorrupted,
    RowRefused,
    TooManyRefusedRows,
    ResultsInvalid,
    OrderNotRepeatable,
    EpochDealtAnew,
    DeadLettersUnwritable,
    CommitUnknown,
    LedgerVersion,
    QueryUnknown
  )
}
