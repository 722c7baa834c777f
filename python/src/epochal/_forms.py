"""The parameters of all helpers that are options."""

from __future__ import annotations

from typing import Final, Literal, get_args

from epochal._form import Form
from epochal._values import auth, cdc, each, ingest, pages, records, rows, since, table
from epochal._values.http import Http, Limits, Retry
from epochal._values.kind import (
    BOOLEAN,
    COLUMNS,
    FAMILY,
    INSTANT,
    LOG_POSITION,
    NAMES,
    SECRET,
    SIZE,
    TABLE,
    TABLES,
    TEXT,
    one_of,
    whole,
)
from epochal._values.value import Option

Method = Literal["POST", "PUT", "PATCH"]

#: Options of every source.
_SOURCE: Final = {
    "fail_on_data_loss": Option("failOnDataLoss", BOOLEAN),
    "source_id": Option("sourceId", TEXT),
}
#: Option of sources whose helper takes the event time column directly.
_EVENT_TIME: Final = {"event_time_column": Option("eventTimeColumn", TEXT)}
#: The option of ``Limits`` that some sources do not have.
_NO_BYTES: Final = frozenset({"maxBytesPerBatch"})
#: Options of every request.
_REQUEST: Final = {"headers": Option("headers", FAMILY, secret=True), "params": Option("params", FAMILY, secret=True)}
_AUTH: Final = get_args(auth.AnyAuth)

RANDOM: Final = Form(
    "epochal-random",
    "epochal.read.random",
    {
        "rows_per_second": Option("rowsPerSecond", whole(declared="long")),
        "rows_per_batch": Option("rowsPerBatch", whole(declared="long")),
        "num_partitions": Option("numPartitions", whole()),
        "seed": Option("seed", whole(declared="long")),
        "min_length": Option("minLength", whole(0)),
        "max_length": Option("maxLength", whole(0)),
        "alphabet": Option("alphabet", TEXT),
        "max_rows": Option("maxRows", whole(0, "long")),
        "start_timestamp": Option("startTimestamp", INSTANT),
        **_SOURCE,
        **_EVENT_TIME,
    },
    {"limits": (Limits,)},
    lacks=_NO_BYTES,
)

INGEST: Final = Form(
    "epochal-ingest",
    "epochal.read.ingest",
    {
        "num_partitions": Option("numPartitions", whole()),
        **_SOURCE,
        **_EVENT_TIME,
    },
    {
        "protocol": get_args(ingest.AnyProtocol),
        "records": get_args(ingest.AnyReceived),
        "journal": (ingest.Journal,),
        "limits": (Limits,),
    },
    unset=(ingest.Text,),
)

CDC: Final = Form(
    "epochal-cdc",
    "epochal.read.cdc",
    {
        "url": Option("url", TEXT),
        "table": Option("dbtable", TABLES),
        "user": Option("user", TEXT),
        "password": Option("password", SECRET, secret=True),
        "starting_offset": Option("startingOffset", LOG_POSITION),
        "preimages": Option("preimages", BOOLEAN),
        "on_truncate": Option("onTruncate", one_of(cdc.OnTruncate)),
        "on_schema_change": Option("onSchemaChange", one_of(cdc.OnSchemaChange)),
        "max_journal_bytes": Option("maxJournalBytes", SIZE),
        "num_partitions": Option("numPartitions", whole()),
        **_SOURCE,
        **_EVENT_TIME,
    },
    {"slot": (cdc.Slot,), "connection": (table.Connection,), "limits": (Limits,), "retry": (Retry,)},
    lacks=frozenset({"driver", "maxConnections", "lockTimeout"}),
)

REST: Final = Form(
    "epochal-rest",
    "epochal.read.rest",
    {
        "url": Option("url", TEXT),
        "infer_schema": Option("inferSchema", BOOLEAN),
        "request_body": Option("requestBody", TEXT, secret=True),
        "partition_params": Option("partitionParams", TEXT),
        "metadata_columns": Option("metadataColumns", COLUMNS),
        "param_columns": Option("paramColumns", NAMES),
        "num_partitions": Option("numPartitions", whole()),
        **_REQUEST,
        **_SOURCE,
    },
    {
        "pages": get_args(pages.AnyPages),
        "each": (each.Each,),
        "records": get_args(records.AnyRecords),
        "since": (since.Since,),
        "poll": (records.Poll,),
        "auth": _AUTH,
        "http": (Http,),
        "limits": (Limits,),
    },
    lists=frozenset({"auth"}),
    unset=(pages.NoPages, records.Json),
    lacks=_NO_BYTES,
)

REST_SINK: Final = Form(
    "epochal-rest sink",
    "epochal.write.rest",
    {
        "url": Option("url", TEXT),
        "method": Option("method", one_of(Method)),
        "key_columns": Option("keyColumns", NAMES),
        "sink_id": Option("sinkId", TEXT),
        "idempotency_header": Option("idempotencyHeader", TEXT),
        **_REQUEST,
    },
    {
        "mode": get_args(rows.AnyMode),
        "body": (rows.Body,),
        "batch": (rows.Batch,),
        "results": (rows.Results,),
        "dead_letters": (rows.DeadLetters,),
        "auth": _AUTH,
        "http": (Http,),
    },
    lists=frozenset({"auth"}),
)

JDBC: Final = Form(
    "epochal-jdbc",
    "epochal.write.jdbc",
    {
        "url": Option("url", TEXT),
        "table": Option("dbtable", TABLE),
        "user": Option("user", TEXT),
        "password": Option("password", SECRET, secret=True),
        "sink_id": Option("sinkId", TEXT),
        "create_table": Option("createTable", BOOLEAN),
    },
    {
        "mode": get_args(table.AnyMode),
        "columns": (table.Columns,),
        "dead_letters": (table.DeadLetters,),
        "connection": (table.Connection,),
        "ledger": (table.Ledger,),
        "transport": (table.Transport,),
        "retry": (Retry,),
    },
)

CHECKPOINT: Final = Form("epochal-checkpoint", "epochal.read.checkpoint_log", {"path": Option("path", TEXT)}, {})

#: Spark's own format, which the jar has no part in.
JDBC_SOURCE: Final = Form(
    "jdbc",
    "epochal.read.jdbc",
    {
        "url": Option("url", TEXT),
        "table": Option("dbtable", TABLE),
        "query": Option("query", TEXT),
        "user": Option("user", TEXT),
        "password": Option("password", SECRET, secret=True),
    },
    {"partitions": (table.Partitions,)},
)

#: A sink's ledger: the table is that of the ledger.
LEDGER: Final = Form(
    "epochal-jdbc",
    "epochal.ledger",
    {
        "url": Option("url", TEXT),
        "schema": Option("dbtable", TABLE),
        "user": Option("user", TEXT),
        "password": Option("password", SECRET, secret=True),
    },
    {},
)

#: By format, those over options of the jar.
FORMS: Final = {form.format: form for form in (REST, RANDOM, INGEST, REST_SINK, JDBC, CDC, CHECKPOINT)}
