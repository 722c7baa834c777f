"""Sources as DataFrames: plain ``DataStreamReader`` calls with typed arguments.

Every argument but the session (and ``url``) is keyword-only and named like the jar's option, in snake case. ``None``
means "not set": the default of the jar holds (``docs/OPTIONS.md``). They work on classic and on Connect sessions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from epochal._load import load
from epochal._options import Duration, Size, Statuses, given
from epochal._random_source import random

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["random", "rest"]


def rest(
    spark: SparkSession,
    url: str,
    *,
    schema: str | StructType | None = None,
    infer_schema: bool | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    request_body: str | None = None,
    partition_params: Sequence[Mapping[str, str | int | float | bool]] | str | None = None,
    pagination: Literal["none", "offset", "page", "cursor", "keyset", "link", "next-url", "time-window"] | None = None,
    offset_param: str | None = None,
    limit_param: str | None = None,
    page_size: int | None = None,
    page_param: str | None = None,
    page_size_param: str | None = None,
    first_page: int | None = None,
    next_cursor: str | None = None,
    next_cursor_header: str | None = None,
    cursor_param: str | None = None,
    cursor_header: str | None = None,
    first_cursor: str | None = None,
    key_field: str | None = None,
    link_rel: str | None = None,
    next_url: str | None = None,
    has_more: str | None = None,
    last_page: str | None = None,
    end_of_list: Literal["proven", "assumed"] | None = None,
    total_count: str | None = None,
    total_count_header: str | None = None,
    on_drift: Literal["fail", "warn", "restart"] | None = None,
    window_start: datetime | str | None = None,
    window_length: Duration | None = None,
    lag: Duration | None = None,
    overlap: Duration | None = None,
    key_columns: Sequence[str] | None = None,
    window_from_param: str | None = None,
    window_to_param: str | None = None,
    window_format: Literal["iso", "iso-millis", "epoch-seconds", "epoch-millis"] | None = None,
    window_pagination: Literal["none", "offset", "page", "cursor", "keyset", "link", "next-url"] | None = None,
    max_pages: int | None = None,
    refresh_interval: Duration | None = None,
    conditional_requests: bool | None = None,
    max_poll_time: Duration | None = None,
    max_poll_bytes: Size | None = None,
    journal: bool | None = None,
    body_format: Literal["json", "ndjson", "csv"] | None = None,
    records: str | None = None,
    missing_records: Literal["fail", "empty"] | None = None,
    sep: str | None = None,
    header: bool | None = None,
    null_value: str | None = None,
    mode: Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"] | None = None,
    column_name_of_corrupt_record: str | None = None,
    rescued_data_column: str | None = None,
    metadata_columns: Sequence[str] | None = None,
    max_record_bytes: Size | None = None,
    num_partitions: int | None = None,
    timeout: Duration | None = None,
    request_deadline: Duration | None = None,
    min_bytes_per_second: Size | None = None,
    max_response_bytes: Size | None = None,
    requests_per_second: float | None = None,
    max_concurrency: int | None = None,
    max_throttle_wait: Duration | None = None,
    retry_statuses: Statuses | None = None,
    ignore_statuses: Statuses | None = None,
    retry_max_attempts: int | None = None,
    retry_initial_delay: Duration | None = None,
    retry_max_delay: Duration | None = None,
    retry_deadline: Duration | None = None,
    bearer_token: str | None = None,
    bearer_token_file: str | None = None,
    bearer_token_env: str | None = None,
    user: str | None = None,
    password: str | None = None,
    password_file: str | None = None,
    password_env: str | None = None,
    api_key: str | None = None,
    api_key_file: str | None = None,
    api_key_env: str | None = None,
    api_key_header: str | None = None,
    api_key_param: str | None = None,
    oauth_token_url: str | None = None,
    oauth_client_id: str | None = None,
    oauth_client_secret: str | None = None,
    oauth_client_secret_file: str | None = None,
    oauth_client_secret_env: str | None = None,
    oauth_refresh_token: str | None = None,
    oauth_refresh_token_file: str | None = None,
    oauth_refresh_token_env: str | None = None,
    oauth_scope: str | None = None,
    oauth_params: Mapping[str, str] | None = None,
    oauth_client_auth: Literal["basic", "body"] | None = None,
    signer_class: str | None = None,
    signer: Mapping[str, str] | None = None,
    tls_ca_file: str | None = None,
    tls_cert_file: str | None = None,
    tls_key_file: str | None = None,
    tls_key_password: str | None = None,
    tls_key_password_file: str | None = None,
    tls_key_password_env: str | None = None,
    proxy: str | None = None,
    proxy_user: str | None = None,
    proxy_password: str | None = None,
    proxy_password_file: str | None = None,
    proxy_password_env: str | None = None,
    max_rows_per_batch: int | None = None,
    min_rows_per_batch: int | None = None,
    max_batch_delay: Duration | None = None,
    fail_on_data_loss: bool | None = None,
    source_id: str | None = None,
    streaming: bool = True,
) -> DataFrame:
    """The records of an API, in the order in which it lists them.

    Columns: those of ``schema``, then those that ``mode``, ``rescued_data_column`` and ``metadata_columns`` add. The
    API must keep its order and may only grow at its end (windows of time: within ``lag`` and ``overlap``).

    Args:
        spark: the session.
        url: what to GET (to POST, with ``request_body``), with a query or without.
        schema: DDL such as ``"id INT, name STRING"``, or a ``StructType``.
        infer_schema: whether Spark infers the schema from the first page; a query keeps the one that it began with.
        headers: request headers; secret.
        params: query parameters that stay the same; secret.
        request_body: body of every request, which is then a POST; ``${offset}`` and ``${limit}``, ``${page}`` and
            ``${pageSize}``, ``${cursor}``, ``${windowFrom}`` and ``${windowTo}`` in it select the page; secret.
        partition_params: rows of names and values, such as ``[{"repo": "a"}, {"repo": "b"}]``, or that as JSON: each
            has a sequence of requests and a position of its own; ``${repo}`` in ``url``, ``params`` and
            ``request_body`` is its value.
        pagination: ``"offset"`` and ``"page"`` ask for ``page_size`` records at a time; ``"none"`` asks once;
            ``"cursor"``, ``"keyset"``, ``"link"`` and ``"next-url"`` follow what each page says of the next one;
            ``"time-window"`` asks for one stretch of time after the other.
        offset_param: the parameter that carries the number of records to skip.
        limit_param: the parameter that carries the page's size under ``"offset"``.
        page_size: records in a page.
        page_param: the parameter that carries the page's number.
        page_size_param: the parameter that carries the page's size under ``"page"``.
        first_page: the number of the first page.
        next_cursor: JSON Pointer to the next page's cursor in a response.
        next_cursor_header: the header of a response that has it, in place of ``next_cursor``.
        cursor_param: the parameter that sends the cursor, or the key.
        cursor_header: the header that sends it, in place of ``cursor_param``.
        first_cursor: the cursor or key of the first page, where that needs one.
        key_field: JSON Pointer within a record to its key, by which the next page is asked for; where records are
            counted, the field that shows whether the list has shifted.
        link_rel: the relation of the ``Link`` header that leads to the next page.
        next_url: JSON Pointer to the next page's URL in a response.
        has_more: JSON Pointer to a flag in a response; where it is false no page follows.
        last_page: JSON Pointer to a flag that is true in the last page, in place of ``has_more``.
        end_of_list: ``"assumed"`` takes a first page that says nothing about a next one for the last page.
        total_count: JSON Pointer to the number of all records in a response.
        total_count_header: the header of a response that has it, in place of ``total_count``.
        on_drift: what becomes of a list that has shifted, or has fewer records than were delivered: ``"restart"``
            reads it again.
        window_start: where the first window begins; a ``datetime`` without a zone is local time.
        window_length: length of a window, from its first moment up to the next one's.
        lag: how long ago a window must have ended before it is asked for.
        overlap: how much of the time before it a window asks for again, for records that appear late.
        key_columns: the fields that identify a record, where windows overlap.
        window_from_param: the parameter with the moment where a window begins.
        window_to_param: the parameter with the moment where it ends.
        window_format: how the two moments are written.
        window_pagination: how the pages of one window follow each other.
        max_pages: pages that one batch, or window, may ask for; an API that goes on for longer is an error.
        refresh_interval: how long after its end was seen an API is asked for new records, in a stream.
        conditional_requests: whether a response that is the same need not be sent again (``ETag``, ``Last-Modified``);
            by default it need not.
        max_poll_time: how long one poll for journalled records may take, in a stream; the next poll goes on.
        max_poll_bytes: bytes of journalled records that one poll may receive; the page that brings more is its last.
        journal: keeps responses in the checkpoint until they are delivered; always so where pages are followed.
        body_format: how a response holds records: ``"json"``, an array; ``"ndjson"``, one object a line; ``"csv"``.
        records: JSON Pointer (RFC 6901) to the array of records; the empty text is the whole response.
        missing_records: ``"empty"`` takes a response without that array, or with null in its place, for an empty page.
        sep: the character between the fields of CSV.
        header: whether the first line of each response in CSV names its fields.
        null_value: unquoted text that is NULL in CSV.
        mode: what becomes of a record that does not fit: ``"FAILFAST"`` fails the query, ``"PERMISSIVE"`` keeps what
            fits, and the record itself in a column, ``"DROPMALFORMED"`` drops it.
        column_name_of_corrupt_record: that column.
        rescued_data_column: a column for the fields that have none, as JSON.
        metadata_columns: columns that say where a record came from: ``"_url"``, ``"_status"``, ``"_fetchedAt"``,
            ``"_headers"``, ``"_params"``.
        max_record_bytes: size of a record at the most; a larger one does not fit.
        num_partitions: tasks that fetch pages at the same time.
        timeout: how long to wait for a connection, and for the next bytes of a response.
        request_deadline: how long a request may take in all.
        min_bytes_per_second: bytes of a response that must come each second, on average over ten seconds.
        max_response_bytes: size of a response at the most.
        requests_per_second: requests of the whole query in a second at the most.
        max_concurrency: requests of the whole query under way at the same time at the most.
        max_throttle_wait: longest pause that the server may ask for.
        retry_statuses: statuses after which a request is made again: ``[408, 429, "5xx"]`` by default.
        ignore_statuses: statuses that count as a response without records, such as ``[404]``.
        retry_max_attempts: tries in all, the first one included.
        retry_initial_delay: upper bound of the first delay; it doubles with every try.
        retry_max_delay: upper bound of any delay.
        retry_deadline: time for all tries together.
        bearer_token: bearer token; secret.
        bearer_token_file: file on the driver that holds it.
        bearer_token_env: environment variable of the driver that holds it.
        user: name for basic authorization; secret.
        password: password for basic authorization; secret.
        password_file: file on the driver that holds it.
        password_env: environment variable of the driver that holds it.
        api_key: key, beside any other authorization; secret.
        api_key_file: file on the driver that holds it.
        api_key_env: environment variable of the driver that holds it.
        api_key_header: header that has the key.
        api_key_param: parameter that has the key, in place of a header.
        oauth_token_url: address of an OAuth 2 token server.
        oauth_client_id: the client's id there.
        oauth_client_secret: the client's secret; secret.
        oauth_client_secret_file: file on the driver that holds it.
        oauth_client_secret_env: environment variable of the driver that holds it.
        oauth_refresh_token: refresh token; without one the client's credentials are the grant; secret.
        oauth_refresh_token_file: file on the driver that holds it.
        oauth_refresh_token_env: environment variable of the driver that holds it.
        oauth_scope: the scopes to ask for.
        oauth_params: further parameters of the token request, such as ``audience``; secret.
        oauth_client_auth: where the token request has the client's id and secret.
        signer_class: class that signs requests, an ``io.epochal.kit.RequestSigner``.
        signer: settings of ``signer_class``; secret.
        tls_ca_file: file on the driver with the authorities to trust, in PEM.
        tls_cert_file: file on the driver with the client's certificate, in PEM.
        tls_key_file: file on the driver with the client's private key, in PEM; unset, it is in ``tls_cert_file``.
        tls_key_password: password of an encrypted private key; secret.
        tls_key_password_file: file on the driver that holds it.
        tls_key_password_env: environment variable of the driver that holds it.
        proxy: HTTP proxy, as ``http://host:port``.
        proxy_user: name for the proxy's basic authorization; secret.
        proxy_password: password for the proxy's basic authorization; secret.
        proxy_password_file: file on the driver that holds it.
        proxy_password_env: environment variable of the driver that holds it.
        max_rows_per_batch: rows of a micro-batch at the most.
        min_rows_per_batch: rows to wait for before a micro-batch starts.
        max_batch_delay: how long ``min_rows_per_batch`` may hold rows back.
        fail_on_data_loss: whether an API that shrank below the offset fails the query.
        source_id: the source's name in the offsets; without one it is made from what selects the records.
        streaming: False reads once, as a batch.

    Raises:
        OptionError: a value that the source refuses.
        SchemaError: there is no schema, or it cannot be read or inferred.
    """
    options = given(
        {
            "url": url,
            "inferSchema": infer_schema,
            "requestBody": request_body,
            "partitionParams": _table(partition_params),
            "pagination": pagination,
            "offsetParam": offset_param,
            "limitParam": limit_param,
            "pageSize": page_size,
            "pageParam": page_param,
            "pageSizeParam": page_size_param,
            "firstPage": first_page,
            "nextCursor": next_cursor,
            "nextCursorHeader": next_cursor_header,
            "cursorParam": cursor_param,
            "cursorHeader": cursor_header,
            "firstCursor": first_cursor,
            "keyField": key_field,
            "linkRel": link_rel,
            "nextUrl": next_url,
            "hasMore": has_more,
            "lastPage": last_page,
            "endOfList": end_of_list,
            "totalCount": total_count,
            "totalCountHeader": total_count_header,
            "onDrift": on_drift,
            "windowStart": window_start,
            "windowLength": window_length,
            "lag": lag,
            "overlap": overlap,
            "keyColumns": key_columns,
            "windowFromParam": window_from_param,
            "windowToParam": window_to_param,
            "windowFormat": window_format,
            "windowPagination": window_pagination,
            "maxPages": max_pages,
            "refreshInterval": refresh_interval,
            "conditionalRequests": conditional_requests,
            "maxPollTime": max_poll_time,
            "maxPollBytes": max_poll_bytes,
            "journal": journal,
            "bodyFormat": body_format,
            "records": records,
            "missingRecords": missing_records,
            "sep": sep,
            "header": header,
            "nullValue": null_value,
            "mode": mode,
            "columnNameOfCorruptRecord": column_name_of_corrupt_record,
            "rescuedDataColumn": rescued_data_column,
            "metadataColumns": metadata_columns,
            "maxRecordBytes": max_record_bytes,
            "numPartitions": num_partitions,
            "timeout": timeout,
            "requestDeadline": request_deadline,
            "minBytesPerSecond": min_bytes_per_second,
            "maxResponseBytes": max_response_bytes,
            "requestsPerSecond": requests_per_second,
            "maxConcurrency": max_concurrency,
            "maxThrottleWait": max_throttle_wait,
            "retry.statuses": retry_statuses,
            "ignoreStatuses": ignore_statuses,
            "retry.maxAttempts": retry_max_attempts,
            "retry.initialDelay": retry_initial_delay,
            "retry.maxDelay": retry_max_delay,
            "retry.deadline": retry_deadline,
            "bearerToken": bearer_token,
            "bearerTokenFile": bearer_token_file,
            "bearerTokenEnv": bearer_token_env,
            "user": user,
            "password": password,
            "passwordFile": password_file,
            "passwordEnv": password_env,
            "apiKey": api_key,
            "apiKeyFile": api_key_file,
            "apiKeyEnv": api_key_env,
            "apiKeyHeader": api_key_header,
            "apiKeyParam": api_key_param,
            "oauth.tokenUrl": oauth_token_url,
            "oauth.clientId": oauth_client_id,
            "oauth.clientSecret": oauth_client_secret,
            "oauth.clientSecretFile": oauth_client_secret_file,
            "oauth.clientSecretEnv": oauth_client_secret_env,
            "oauth.refreshToken": oauth_refresh_token,
            "oauth.refreshTokenFile": oauth_refresh_token_file,
            "oauth.refreshTokenEnv": oauth_refresh_token_env,
            "oauth.scope": oauth_scope,
            "oauth.clientAuth": oauth_client_auth,
            "signerClass": signer_class,
            "tls.caFile": tls_ca_file,
            "tls.certFile": tls_cert_file,
            "tls.keyFile": tls_key_file,
            "tls.keyPassword": tls_key_password,
            "tls.keyPasswordFile": tls_key_password_file,
            "tls.keyPasswordEnv": tls_key_password_env,
            "proxy": proxy,
            "proxyUser": proxy_user,
            "proxyPassword": proxy_password,
            "proxyPasswordFile": proxy_password_file,
            "proxyPasswordEnv": proxy_password_env,
            "maxRowsPerBatch": max_rows_per_batch,
            "minRowsPerBatch": min_rows_per_batch,
            "maxBatchDelay": max_batch_delay,
            "failOnDataLoss": fail_on_data_loss,
            "sourceId": source_id,
        },
        headers=headers,
        params=params,
        signer=signer,
        **{"oauth.params": oauth_params},
    )
    return load(spark, "epochal-rest", options, schema, streaming)


def _table(rows: Sequence[Mapping[str, str | int | float | bool]] | str | None) -> str | None:
    return rows if rows is None or isinstance(rows, str) else json.dumps([dict(row) for row in rows])
