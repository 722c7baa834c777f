"""``epochal.write.rest``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from epochal._options import Duration, Location, Size, Statuses, given
from epochal._start import OutputMode, Stream, start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


def rest(
    df: DataFrame,
    url: str,
    *,
    checkpoint: Location | None = None,
    output_mode: OutputMode = "append",
    available_now: bool = False,
    processing_time: Duration | None = None,
    query_name: str | None = None,
    method: Literal["POST", "PUT", "PATCH"] | None = None,
    body: Literal["object", "array", "ndjson"] | None = None,
    row_template: str | None = None,
    body_template: str | None = None,
    content_type: str | None = None,
    ignore_null_fields: bool | None = None,
    batch_size: int | None = None,
    batch_bytes: Size | None = None,
    linger: Duration | None = None,
    key_columns: Sequence[str] | None = None,
    num_partitions: int | None = None,
    sink_id: str | None = None,
    idempotency_header: str | None = None,
    results: str | None = None,
    result_status: str | None = None,
    result_success: Sequence[str] | None = None,
    result_reason: str | None = None,
    dead_letter_path: Location | None = None,
    reject_statuses: Statuses | None = None,
    max_bad_rows: int | None = None,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    timeout: Duration | None = None,
    request_deadline: Duration | None = None,
    min_bytes_per_second: Size | None = None,
    max_response_bytes: Size | None = None,
    requests_per_second: float | None = None,
    max_concurrency: int | None = None,
    max_throttle_wait: Duration | None = None,
    retry_statuses: Statuses | None = None,
    ignore_statuses: Statuses | None = None,
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
    retry_max_attempts: int | None = None,
    retry_initial_delay: Duration | None = None,
    retry_max_delay: Duration | None = None,
    retry_deadline: Duration | None = None,
) -> StreamingQuery | None:
    """Sends a DataFrame's rows to a REST API: at least once, and exactly once where it honours idempotency keys.

    Args:
        df: a streaming DataFrame (``checkpoint`` is needed), or a batch (``checkpoint`` and what belongs to a stream
            stay unset).
        url: where rows are sent; ``{column}`` stands for a column's value, with one row a request.
        checkpoint: directory of the query's state. Keys stay the same with the same one after a restart.
        output_mode: ``"append"``, or ``"update"`` with ``key_columns``.
        available_now: whether to send what there is now, in batches, and end.
        processing_time: time from the start of one micro-batch to the next; unset, as fast as possible.
        query_name: the query's name in Spark's UI and in ``spark.streams``.
        method: the requests' method; unset, POST.
        body: what a request holds: a row as an object (the default of one row a request), an array (that of several),
            or lines.
        row_template: how a row is written: JSON with ``${column}`` for values, and ``${_row}`` for the whole row.
        body_template: what stands around the rows: JSON with ``${_rows}``, and ``${_key}`` for the idempotency key.
        content_type: the header Content-Type, where it is not that of JSON or of lines of JSON.
        ignore_null_fields: whether NULLs are left out of a row.
        batch_size: rows of one request at the most; unset, one.
        batch_bytes: bytes of a request's rows at the most.
        linger: how long a request may wait for more rows; without idempotency keys only.
        key_columns: names of the columns that identify a row: idempotency keys are made of their values; unset, of the
            row's place in its epoch.
        num_partitions: tasks that send, where rows are sorted by ``key_columns``.
        sink_id: the sink's name in its keys; unset, the query's id, which lives in the checkpoint.
        idempotency_header: the header that carries the key, or ``"none"``.
        results: JSON Pointer to the array in a response that has the result of each row.
        result_status: JSON Pointer, within an entry of it, to the row's status.
        result_success: values there that mean success; unset, 200 to 299 and true.
        result_reason: JSON Pointer, within an entry, to why a row was refused.
        dead_letter_path: the directory for rows that are refused, as JSON lines; unset, such a row fails its epoch.
        reject_statuses: statuses of a whole response for which its rows are at fault, such as ``[400, 422]``.
        max_bad_rows: rows of one epoch that it takes at the most.
        headers: request headers; secret.
        params: query parameters that stay the same; secret.
        timeout: how long to wait for a connection, and for the next bytes of a response.
        request_deadline: how long a request may take in all.
        min_bytes_per_second: bytes of a response that must come each second, on average over ten seconds.
        max_response_bytes: size of a response at the most.
        requests_per_second: requests of the whole query in a second at the most.
        max_concurrency: requests of the whole query under way at the same time at the most.
        max_throttle_wait: longest pause that the server may ask for.
        retry_statuses: statuses after which a request is made again: ``[408, 429, "5xx"]`` by default.
        ignore_statuses: statuses that count as success, such as ``[409]``.
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
        retry_max_attempts: tries in all, the first one included.
        retry_initial_delay: upper bound of the first delay; it doubles with every try.
        retry_max_delay: upper bound of any delay.
        retry_deadline: time for all tries together.

    Returns:
        The started query; None for a batch, which is then sent.

    Raises:
        OptionError: an option is missing, wrong, or does not go with a batch.
        HttpError: the API cannot be reached, or says no.
        RowError: a row cannot be sent, or the API refuses it. See ``epochal.errors`` for all of them.
    """
    options = given(
        {
            "url": url,
            "method": method,
            "body": body,
            "rowTemplate": row_template,
            "bodyTemplate": body_template,
            "contentType": content_type,
            "ignoreNullFields": ignore_null_fields,
            "batchSize": batch_size,
            "batchBytes": batch_bytes,
            "linger": linger,
            "keyColumns": key_columns,
            "numPartitions": num_partitions,
            "sinkId": sink_id,
            "idempotencyHeader": idempotency_header,
            "results": results,
            "resultStatus": result_status,
            "resultSuccess": result_success,
            "resultReason": result_reason,
            "deadLetterPath": dead_letter_path,
            "rejectStatuses": reject_statuses,
            "maxBadRows": max_bad_rows,
            "timeout": timeout,
            "requestDeadline": request_deadline,
            "minBytesPerSecond": min_bytes_per_second,
            "maxResponseBytes": max_response_bytes,
            "requestsPerSecond": requests_per_second,
            "maxConcurrency": max_concurrency,
            "maxThrottleWait": max_throttle_wait,
            "retry.statuses": retry_statuses,
            "ignoreStatuses": ignore_statuses,
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
            "retry.maxAttempts": retry_max_attempts,
            "retry.initialDelay": retry_initial_delay,
            "retry.maxDelay": retry_max_delay,
            "retry.deadline": retry_deadline,
        },
        headers=headers,
        params=params,
        signer=signer,
        **{"oauth.params": oauth_params},
    )
    return start(
        df,
        "epochal-rest",
        "epochal.write.rest",
        options,
        Stream(checkpoint, output_mode, available_now, processing_time, query_name),
    )
