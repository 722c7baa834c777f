package io.epochal.core.error

/** All conditions, by name. Their texts are in `conditions.json`, which Python reads too; a name, once released, keeps its
  * meaning.
  */
object Conditions {

  // Options and schemas: refused before a query starts.
  val OptionUnknown: Condition = Condition("OPTION_UNKNOWN")
  val OptionRequired: Condition = Condition("OPTION_REQUIRED")
  val OptionInvalid: Condition = Condition("OPTION_INVALID")
  val OptionConflict: Condition = Condition("OPTION_CONFLICT")
  val SchemaRequired: Condition = Condition("SCHEMA_REQUIRED")
  val SchemaInferenceFailed: Condition = Condition("SCHEMA_INFERENCE_FAILED")
  val SchemaChanged: Condition = Condition("SCHEMA_CHANGED")
  val SchemaInvalid: Condition = Condition("SCHEMA_INVALID")
  val SchemaUnsupported: Condition = Condition("SCHEMA_UNSUPPORTED")
  val SecretUnreadable: Condition = Condition("SECRET_UNREADABLE")
  val TlsInvalid: Condition = Condition("TLS_INVALID")
  val SignerInvalid: Condition = Condition("SIGNER_INVALID")
  val OptionNotAllowed: Condition = Condition("OPTION_NOT_ALLOWED")

  // Checkpoints and offsets.
  val CheckpointNotFound: Condition = Condition("CHECKPOINT_NOT_FOUND")
  val CommitsMissing: Condition = Condition("COMMITS_MISSING")
  val OffsetVersionUnsupported: Condition = Condition("OFFSET_VERSION_UNSUPPORTED")
  val OffsetInvalid: Condition = Condition("OFFSET_INVALID")
  val SourceChanged: Condition = Condition("SOURCE_CHANGED")
  val DataLoss: Condition = Condition("DATA_LOSS")

  // What a trigger or an output mode cannot do.
  val TriggerUnsupported: Condition = Condition("TRIGGER_UNSUPPORTED")
  val ModeUnsupported: Condition = Condition("MODE_UNSUPPORTED")

  // Requests, responses and the records in them.
  val HttpUnreachable: Condition = Condition("HTTP_UNREACHABLE")
  val HttpTimeout: Condition = Condition("HTTP_TIMEOUT")
  val HttpTooSlow: Condition = Condition("HTTP_TOO_SLOW")
  val HttpLimitExceeded: Condition = Condition("HTTP_LIMIT_EXCEEDED")
  val HttpStatus: Condition = Condition("HTTP_STATUS")
  val OAuthRefused: Condition = Condition("OAUTH_REFUSED")
  val HttpResponseTooLarge: Condition = Condition("HTTP_RESPONSE_TOO_LARGE")
  val HttpBodyInvalid: Condition = Condition("HTTP_BODY_INVALID")
  val HttpErrorInBody: Condition = Condition("HTTP_ERROR_IN_BODY")
  val RecordsNotFound: Condition = Condition("RECORDS_NOT_FOUND")
  val CsvHeaderMismatch: Condition = Condition("CSV_HEADER_MISMATCH")
  val PaginationMismatch: Condition = Condition("PAGINATION_MISMATCH")
  val PaginationLoop: Condition = Condition("PAGINATION_LOOP")
  val ContinuationMissing: Condition = Condition("CONTINUATION_MISSING")
  val ListIncomplete: Condition = Condition("LIST_INCOMPLETE")
  val ListShifted: Condition = Condition("LIST_SHIFTED")
  val TooManyPages: Condition = Condition("TOO_MANY_PAGES")
  val TooManyEmptyPages: Condition = Condition("TOO_MANY_EMPTY_PAGES")
  val PageRefused: Condition = Condition("PAGE_REFUSED")
  val LinkRefused: Condition = Condition("LINK_REFUSED")
  val ParentFieldInvalid: Condition = Condition("PARENT_FIELD_INVALID")
  val SinceValueInvalid: Condition = Condition("SINCE_VALUE_INVALID")
  val JournalUnwritable: Condition = Condition("JOURNAL_UNWRITABLE")
  val JournalNotShared: Condition = Condition("JOURNAL_NOT_SHARED")
  val ResponseFileFailed: Condition = Condition("RESPONSE_FILE_FAILED")
  val RecordInvalid: Condition = Condition("RECORD_INVALID")
  val ColumnsMissing: Condition = Condition("COLUMNS_MISSING")

  // Databases and tables.
  val DatabaseUnreachable: Condition = Condition("DATABASE_UNREACHABLE")
  val LoginRefused: Condition = Condition("LOGIN_REFUSED")
  val DriverMissing: Condition = Condition("DRIVER_MISSING")
  val DriverUnusable: Condition = Condition("DRIVER_UNUSABLE")
  val DatabaseError: Condition = Condition("DATABASE_ERROR")
  val DatabaseLocked: Condition = Condition("DATABASE_LOCKED")
  val DatabaseFull: Condition = Condition("DATABASE_FULL")
  val PrivilegesMissing: Condition = Condition("PRIVILEGES_MISSING")
  val DatabaseFileReplaced: Condition = Condition("DATABASE_FILE_REPLACED")
  val RowTooLarge: Condition = Condition("ROW_TOO_LARGE")
  val TooManyConnections: Condition = Condition("TOO_MANY_CONNECTIONS")
  val SinkBlocked: Condition = Condition("SINK_BLOCKED")
  val ObjectUntrusted: Condition = Condition("OBJECT_UNTRUSTED")
  val TableMissing: Condition = Condition("TABLE_MISSING")
  val ColumnMissing: Condition = Condition("COLUMN_MISSING")
  val ColumnRequired: Condition = Condition("COLUMN_REQUIRED")
  val ColumnTypeMismatch: Condition = Condition("COLUMN_TYPE_MISMATCH")
  val TypeUnsupported: Condition = Condition("TYPE_UNSUPPORTED")
  val ColumnUnsupported: Condition = Condition("COLUMN_UNSUPPORTED")
  val ValueUnsupported: Condition = Condition("VALUE_UNSUPPORTED")
  val KeyColumnsRequired: Condition = Condition("KEY_COLUMNS_REQUIRED")
  val KeyNotUnique: Condition = Condition("KEY_NOT_UNIQUE")
  val KeyNotFollowed: Condition = Condition("KEY_NOT_FOLLOWED")
  val KeyComparisonMismatch: Condition = Condition("KEY_COMPARISON_MISMATCH")
  val DuplicateKeys: Condition = Condition("DUPLICATE_KEYS")

  // Rows and epochs in the sink.
  val BadRow: Condition = Condition("BAD_ROW")
  val TooManyBadRows: Condition = Condition("TOO_MANY_BAD_ROWS")
  val EpochTooLarge: Condition = Condition("EPOCH_TOO_LARGE")
  val EpochGap: Condition = Condition("EPOCH_GAP")
  val EpochRegressed: Condition = Condition("EPOCH_REGRESSED")
  val EpochOffsetsChanged: Condition = Condition("EPOCH_OFFSETS_CHANGED")
  val EpochContentChanged: Condition = Condition("EPOCH_CONTENT_CHANGED")
  val QueryChanged: Condition = Condition("QUERY_CHANGED")
  val ReplacementIncomplete: Condition = Condition("REPLACEMENT_INCOMPLETE")
  val LedgerEmpty: Condition = Condition("LEDGER_EMPTY")
  val TargetShared: Condition = Condition("TARGET_SHARED")
  val TargetChanged: Condition = Condition("TARGET_CHANGED")
  val TriggerChanged: Condition = Condition("TRIGGER_CHANGED")
  val SinkFenced: Condition = Condition("SINK_FENCED")
  val RowsDropped: Condition = Condition("ROWS_DROPPED")
  val StagingLost: Condition = Condition("STAGING_LOST")
  val RowFileLost: Condition = Condition("ROW_FILE_LOST")
  val CommitMessageCorrupted: Condition = Condition("COMMIT_MESSAGE_CORRUPTED")

  // Rows sent to an API.
  val RowRefused: Condition = Condition("ROW_REFUSED")
  val TooManyRefusedRows: Condition = Condition("TOO_MANY_REFUSED_ROWS")
  val RowResultsInvalid: Condition = Condition("ROW_RESULTS_INVALID")
  val OrderNotRepeatable: Condition = Condition("ORDER_NOT_REPEATABLE")
  val EpochPartitioningChanged: Condition = Condition("EPOCH_PARTITIONING_CHANGED")
  val DeadLettersUnwritable: Condition = Condition("DEAD_LETTERS_UNWRITABLE")

  // Commits, ledgers and repairs.
  val CommitUnknown: Condition = Condition("COMMIT_UNKNOWN")
  val LedgerVersionUnsupported: Condition = Condition("LEDGER_VERSION_UNSUPPORTED")
  val LedgerNotFound: Condition = Condition("LEDGER_NOT_FOUND")
  val SinkNotFound: Condition = Condition("SINK_NOT_FOUND")
  val RepairRefused: Condition = Condition("REPAIR_REFUSED")
  val QueryNotFound: Condition = Condition("QUERY_NOT_FOUND")
  val SparkUnsupported: Condition = Condition("SPARK_UNSUPPORTED")

  // Rows stored in the middle of an epoch, by continuous and real-time queries.
  val RowsNotRepeated: Condition = Condition("ROWS_NOT_REPEATED")
  val RowsOwed: Condition = Condition("ROWS_OWED")
  val ProgressLost: Condition = Condition("PROGRESS_LOST")
  val FlushOvertaken: Condition = Condition("FLUSH_OVERTAKEN")
  val RunFailed: Condition = Condition("RUN_FAILED")
  val EpochLoggedByOther: Condition = Condition("EPOCH_LOGGED_BY_OTHER")
  val RunSuperseded: Condition = Condition("RUN_SUPERSEDED")
  val RepairUnsupported: Condition = Condition("REPAIR_UNSUPPORTED")

  // Sources that clients write to.
  val PortUnavailable: Condition = Condition("PORT_UNAVAILABLE")
  val ListenerExposed: Condition = Condition("LISTENER_EXPOSED")
  val JournalFenced: Condition = Condition("JOURNAL_FENCED")
  val FeedFailed: Condition = Condition("FEED_FAILED")
  val IntakeStopped: Condition = Condition("INTAKE_STOPPED")
  val LineTooLong: Condition = Condition("LINE_TOO_LONG")

  // Changes of a database.
  val CaptureNotReady: Condition = Condition("CAPTURE_NOT_READY")
  val PoolerRefused: Condition = Condition("POOLER_REFUSED")
  val SlotInUse: Condition = Condition("SLOT_IN_USE")
  val SlotLost: Condition = Condition("SLOT_LOST")
  val SlotMoved: Condition = Condition("SLOT_MOVED")
  val SnapshotInterrupted: Condition = Condition("SNAPSHOT_INTERRUPTED")
  val SlotLagExceeded: Condition = Condition("SLOT_LAG_EXCEEDED")
  val ServerChanged: Condition = Condition("SERVER_CHANGED")
  val TableTruncated: Condition = Condition("TABLE_TRUNCATED")
  val TableChanged: Condition = Condition("TABLE_CHANGED")
  val QueryOutdated: Condition = Condition("QUERY_OUTDATED")
  val CaptureChanged: Condition = Condition("CAPTURE_CHANGED")
  val TablesChanged: Condition = Condition("TABLES_CHANGED")
  val ValueNotSent: Condition = Condition("VALUE_NOT_SENT")

  // Connectors that are built on the kit.
  val ConnectorFailed: Condition = Condition("CONNECTOR_FAILED")
  val ConnectorInvalid: Condition = Condition("CONNECTOR_INVALID")
  val LedgerDamaged: Condition = Condition("LEDGER_DAMAGED")

  /** In the order of `conditions.json` and of the documentation. */
  def all: Seq[Condition] = ConditionText.names.map(Condition(_))
}
