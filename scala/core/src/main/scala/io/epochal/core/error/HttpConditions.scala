package io.epochal.core.error

/** Of what speaks HTTP: a part of [[Conditions]]. */
private[error] trait HttpConditions {

  // Requests, responses and the records in them.
  val HttpUnreachable = Condition(
    "HTTP_UNREACHABLE",
    "<url> could not be reached: <reason> (<attempts> attempts).",
    "Check the address and the network; retry.maxAttempts and retry.deadline set how long to go on."
  )
  val HttpTimeout = Condition(
    "HTTP_TIMEOUT",
    "<url> did not respond within <timeout> (<attempts> attempts).",
    "Raise timeout, or transfer less in one request: lower pageSize where pages are read, batchSize where rows are sent."
  )
  val HttpTooSlow = Condition(
    "HTTP_TOO_SLOW",
    "A request to <url> took too long (<attempts> attempts): <reason>.",
    "Raise requestDeadline or lower minBytesPerSecond, or transfer less in one request: lower pageSize where pages are read, batchSize where rows are sent."
  )
  val HttpLimitExceeded = Condition(
    "HTTP_LIMIT_EXCEEDED",
    "The response from <url> exceeds a limit: <reason>.",
    "Open the URL with curl -v and check what responds there; it may be a proxy or another server. The limits are fixed."
  )
  val HttpStatus = Condition(
    "HTTP_STATUS",
    "<url> responded with status <status> (<attempts> attempts): <body>",
    "<advice>"
  )
  val OAuthRefused = Condition(
    "OAUTH_REFUSED",
    "<url> issued no access token: <reason>.",
    "Check oauth.clientId, its secret, oauth.scope and oauth.clientAuth. A refresh token that expired or was used up must be replaced by a new one."
  )
  val HttpResponseTooLarge = Condition(
    "HTTP_RESPONSE_TOO_LARGE",
    "A response from <url> is larger than <limit> bytes.",
    "Ask for smaller pages (with 'pageSize' where pages are counted, elsewhere by the API's own parameter, in 'params'), or raise 'maxResponseBytes'."
  )
  val HttpBodyInvalid = Condition(
    "HTTP_BODY_INVALID",
    "<url> responded with a body that cannot be read (<attempts> attempts): <reason>.",
    "Open the URL with curl or in a browser and check what it returns; a proxy or a login page may respond in its place."
  )
  val RecordsNotFound = Condition(
    "RECORDS_NOT_FOUND",
    "The response from <url> has no array at '<pointer>': <found>.",
    "Set records to the JSON Pointer of the array, like records=/data/items, or to the empty text where the response is the array. If the API leaves empty lists out, set missingRecords=empty."
  )
  val CsvHeaderMismatch = Condition(
    "CSV_HEADER_MISMATCH",
    "The header of the CSV from <url> <reason>.",
    "Name the schema's columns as the header does; if the CSV has no header, set header=false; if its fields are not separated by commas, set 'sep'. A stream then needs a new checkpoint."
  )
  val PaginationMismatch = Condition(
    "PAGINATION_MISMATCH",
    "<url> does not page as the options say: asked <asked>, it returned <found>.",
    "Compare pagination=<pagination> and its options with the API's documentation: the parameters' names, and the largest pageSize.")
  val PaginationLoop = Condition(
    "PAGINATION_LOOP",
    "<url> leads back to a page that was read before: <reason>.",
    "Following it would read the same records for ever. The API may ignore the parameter that asks for the next page: compare pagination=<pagination> and its options with its documentation."
  )
  val ContinuationMissing = Condition(
    "CONTINUATION_MISSING",
    "The first page of <url> has <records> records, and nothing at <place> that says whether another page follows. Its fields are <fields>; its headers are <headers>.",
    "Set '<option>' to where the API names its next page. If it names none on its last page, set endOfList=assumed."
  )
  val ListIncomplete = Condition(
    "LIST_INCOMPLETE",
    "The response from <url> has <records> records, and they are not the whole list: <reason>.",
    "Set 'pagination' to how the API pages, for example pagination=<pagination>. If this one response is all that is wanted, set endOfList=assumed."
  )
  val ListShifted = Condition(
    "LIST_SHIFTED",
    "Record <record> of <source>, counted from 0, was delivered, and now another record is at its position: records before it were inserted or deleted, so later ones would be delivered twice or never.",
    "Request an order in which new records come only at the end. If records only gained a field, or the last one changed, set keyField to the JSON Pointer of the field that identifies a record, for example keyField=/id; an existing checkpoint can stay. onDrift=warn goes on from here, onDrift=restart reads the list again."
  )
  val TooManyPages = Condition(
    "TOO_MANY_PAGES",
    "<url> has more than <pages> pages, the maximum.",
    "If the list really is that long, raise maxPages. With maxRowsPerBatch a stream that is not AvailableNow requests only the pages that a batch needs."
  )
  val LinkRefused = Condition(
    "LINK_REFUSED",
    "<url> names <link> as its next page, which is not followed: <reason>.",
    "Headers and parameters may be secret, so they are sent only to the scheme, host and port of url. Set url to the host of the links."
  )
  val JournalUnwritable = Condition(
    "JOURNAL_UNWRITABLE",
    "The journal of <source> cannot be written to <path>: <reason>.",
    "Nothing was skipped. Make room there, or correct the permissions, and start the query again."
  )
  val JournalNotShared = Condition(
    "JOURNAL_NOT_SHARED",
    "An executor (<host>) cannot read the journal of <source> that the driver has written and sees at <path>: <reason>.",
    "No row is lost or skipped. Stop the query, move its whole checkpoint to a place that the driver and all executors can read (HDFS, S3, a shared mount), and start it there."
  )
  val ResponseFileFailed = Condition(
    "RESPONSE_FILE_FAILED",
    "A response is too large for memory, and its temporary file in <path> cannot be written or read: <reason>.",
    "Make room there, set another directory with -Djava.io.tmpdir=/path in spark.driver.extraJavaOptions and spark.executor.extraJavaOptions, or request smaller pages."
  )
  val RecordInvalid = Condition(
    "RECORD_INVALID",
    "Record <index> of <url> does not fit the schema: <reason>.",
    "Correct the schema (a STRING column takes any JSON value); mode=PERMISSIVE keeps such records in a column, mode=DROPMALFORMED drops them."
  )

  // Rows sent to an API.
  val RowRefused = Condition(
    "ROW_REFUSED",
    "Row <row> of partition <partition> in epoch <epoch> was refused by <url>: <reason>.",
    "Rows before it were sent, and are sent again under the same keys when the query is started again. Correct the row in the query, or set deadLetterPath to put such rows aside.",
    Some(
      "Rows before it were sent. Correct the row, or set deadLetterPath to put such rows aside; with sinkId and keyColumns a second write sends the same keys.")
  )
  val TooManyRefusedRows = Condition(
    "TOO_MANY_REFUSED_ROWS",
    "The server refused more rows of epoch <epoch> than <limit>. One of them, row <row> of partition <partition>: <reason>.",
    "The others were sent, and are sent again under the same keys when the query is started again; deadLetterPath has none of the epoch. Correct the query, or raise maxBadRows.",
    Some(
      "The others were sent; deadLetterPath has none of the batch. Correct the rows, or raise maxBadRows; with sinkId and keyColumns a second write sends the same keys.")
  )
  val RowResultsInvalid = Condition(
    "ROW_RESULTS_INVALID",
    "The response from <url> does not say of each of <rows> rows whether it was accepted: <reason>.",
    "Compare results, resultStatus and resultSuccess with the API's documentation. The rows may have been accepted; they are sent again when the query, or the batch, runs again."
  )
  val OrderNotRepeatable = Condition(
    "ORDER_NOT_REPEATABLE",
    "<format> cannot make idempotency keys from the rows' positions: after <operator> a replay may have other rows at a position.",
    "Set keyColumns to columns that identify a row: keys are then made from their values. Or set idempotencyHeader=none to send rows at least once, without keys."
  )
  val EpochPartitioningChanged = Condition(
    "EPOCH_PARTITIONING_CHANGED",
    "Epoch <epoch> was first sent with <known>, and its replay has <found>: its requests would have other idempotency keys.",
    "Run the query once as it was (the same options; the same number of cores, or numPartitions at the source) and let it commit the epoch. To send it again under other keys, delete epochal-rest/<epoch> in the checkpoint."
  )
  val DeadLettersUnwritable = Condition(
    "DEAD_LETTERS_UNWRITABLE",
    "The dead letters cannot be written to <path>: <reason>.",
    "deadLetterPath must be a directory that the driver may write to, or can make."
  )
}
