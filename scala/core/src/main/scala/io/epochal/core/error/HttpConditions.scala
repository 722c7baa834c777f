package io.epochal.core.error

/** Of what speaks HTTP: a part of [[Conditions]]. */
private[error] trait HttpConditions {

  // Requests, answers and the records in them.
  val HttpUnreachable = Condition(
    "HTTP_UNREACHABLE",
    "<url> could not be reached: <reason> (<attempts> attempts).",
    "Check the address and the network; retry.maxAttempts and retry.deadline set how long to go on."
  )
  val HttpTimeout = Condition(
    "HTTP_TIMEOUT",
    "<url> did not answer within <timeout> (<attempts> attempts).",
    "Raise timeout, or ask for smaller pages (pageSize)."
  )
  val HttpStatus = Condition(
    "HTTP_STATUS",
    "<url> answered with status <status> (<attempts> attempts): <body>",
    "<advice>"
  )
  val OAuthRefused = Condition(
    "OAUTH_REFUSED",
    "<url> gave no access token: <reason>.",
    "Check oauth.clientId, its secret, oauth.scope and oauth.clientAuth. A refresh token that expired or was used up must be obtained anew."
  )
  val HttpResponseTooLarge = Condition(
    "HTTP_RESPONSE_TOO_LARGE",
    "A response of <url> is larger than <limit> bytes.",
    "Ask for smaller pages (with 'pageSize' where pages are counted, elsewhere by the API's own parameter, in 'params'), or raise 'maxResponseBytes'."
  )
  val HttpBodyInvalid = Condition(
    "HTTP_BODY_INVALID",
    "<url> answered with a body that cannot be read (<attempts> attempts): <reason>.",
    "Open the URL by hand and see what it serves; a proxy or a login page may answer in its place."
  )
  val RecordsNotFound = Condition(
    "RECORDS_NOT_FOUND",
    "The response of <url> has no array at '<pointer>': <found>.",
    "Set records to the JSON Pointer of the array, like records=/data/items, or to the empty text where the response is the array. If the API leaves empty lists out, set missingRecords=empty."
  )
  val CsvHeaderMismatch = Condition(
    "CSV_HEADER_MISMATCH",
    "The header of the CSV that <url> gives <reason>.",
    "Name the schema's columns as the header does; set header=false where the CSV has none, and 'sep' where it is not split by commas (a stream needs a new checkpoint then)."
  )
  val PaginationMismatch = Condition(
    "PAGINATION_MISMATCH",
    "<url> does not page as the options say: <reason>.",
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
    "The response of <url> has <records> records, and they are not the whole list: <reason>.",
    "Set 'pagination' to how the API pages, for example pagination=<pagination>. If this one response is all that is wanted, set endOfList=assumed."
  )
  val ListShifted = Condition(
    "LIST_SHIFTED",
    "Record <record> of <source>, counted from 0, was delivered, and another one stands there now: records before it were inserted or deleted, so later ones would come twice or never.",
    "Ask for an order in which new records only come at the end. A list whose records gain a field, or whose last record changes, looks the same: set keyField to the JSON Pointer of what tells a record, for example /id, also for an existing checkpoint. onDrift=warn goes on from here, onDrift=restart reads the list again."
  )
  val TooManyPages = Condition(
    "TOO_MANY_PAGES",
    "<url> has more pages after <pages> of them, the maximum.",
    "If the list really is that long, raise maxPages. With maxRowsPerBatch a stream that is not AvailableNow asks only for the pages that a batch needs."
  )
  val LinkRefused = Condition(
    "LINK_REFUSED",
    "<url> gives <link> as its next page, which is not followed: <reason>.",
    "Headers and parameters may be secret, so they are sent only to the scheme, host and port of url. Set url to the host of the links."
  )
  val JournalUnwritable = Condition(
    "JOURNAL_UNWRITABLE",
    "The journal of <source> cannot be written to <path>: <reason>.",
    "Nothing was skipped. Make room there, or correct the permissions, and start the query again."
  )
  val JournalUnseen = Condition(
    "JOURNAL_UNSEEN",
    "An executor (<host>) cannot read the journal of <source> that the driver has written and sees at <path>: <reason>.",
    "No row is lost or skipped. Stop the query, move its whole checkpoint to a place that the driver and all executors can read (HDFS, S3, a shared mount), and start it there."
  )
  val ResponseNotKept = Condition(
    "RESPONSE_NOT_KEPT",
    "A response is too large for memory, and a file of it cannot be written to <path>, or read there: <reason>.",
    "Make room there, or set another directory with -Djava.io.tmpdir=/path in spark.driver.extraJavaOptions and spark.executor.extraJavaOptions, or ask for smaller pages."
  )
  val RecordInvalid = Condition(
    "RECORD_INVALID",
    "Record <index> of <url> does not fit the schema: <reason>.",
    "Correct the schema (a STRING column takes any JSON value); mode=PERMISSIVE keeps such records in a column, mode=DROPMALFORMED drops them."
  )

  // Rows sent to an API.
  val RowRefused = Condition(
    "ROW_REFUSED",
    "Row <row> of partition <partition> in epoch <epoch> was not taken by <url>: <reason>.",
    "Rows before it were sent, and are sent again under the same keys when the query is started again. Correct the row in the query, or set deadLetterPath to put such rows aside."
  )
  val TooManyRefusedRows = Condition(
    "TOO_MANY_REFUSED_ROWS",
    "Epoch <epoch> holds more rows that the server refuses than <limit>. The first one known: row <row> of partition <partition>: <reason>.",
    "The others were sent, and are sent again under the same keys when the query is started again; deadLetterPath has none of the epoch. Correct the query, or raise maxBadRows."
  )
  val ResultsInvalid = Condition(
    "RESULTS_INVALID",
    "The response of <url> does not say what became of each of <rows> rows: <reason>.",
    "Compare results, resultStatus and resultSuccess with the API's documentation. The rows may have been accepted; they are sent again when the query is started again."
  )
  val OrderNotRepeatable = Condition(
    "ORDER_NOT_REPEATABLE",
    "<format> cannot make idempotency keys of the rows' places: after <operator> a replay may bring other rows to a place.",
    "Set keyColumns to columns that identify a row: keys are then made of them. Or set idempotencyHeader=none to send rows at least once, without keys."
  )
  val EpochDealtAnew = Condition(
    "EPOCH_DEALT_ANEW",
    "Epoch <epoch> was first sent as <known>, and now comes again as <found>: its requests would have other idempotency keys.",
    "Run the query once as it was (the same options; the same number of cores, or numPartitions at the source) and let it commit the epoch. To send it again under other keys, delete epochal-rest/<epoch> in the checkpoint."
  )
  val DeadLettersUnwritable = Condition(
    "DEAD_LETTERS_UNWRITABLE",
    "The dead letters cannot be written to <path>: <reason>.",
    "deadLetterPath must be a directory that the driver may write to, or can make."
  )
}
