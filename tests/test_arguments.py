"""The ``TypeError`` for an unknown keyword argument names the one that was meant."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest

import epochal
from epochal import Http, Limits, Retry, _hooks, jdbc, read, rest, testing, write

EXPECTED: list[tuple[Callable[..., Any], str, str]] = [
    (read.rest, "page", "'pages'"),
    (read.rest, "page_size", "pages=rest.Offset(size=…)"),
    (read.rest, "pageSize", "pages=rest.Offset(size=…)"),
    (read.rest, "timeout", "http=Http(timeout=…)"),
    (read.rest, "max_attempts", "http=Http(retry=Retry(attempts=…))"),
    (read.rest, "pagination", "pages=…"),
    (read.rest, "infer_schema", 'schema="infer"'),
    (read.rest, "since", "poll=rest.Since(…)"),
    (read.rest, "partition_params", "each=rest.Each(table=…)"),
    (read.rest, "param_columns", "each=rest.Each(columns=…)"),
    (read.rest, "metadata_columns", "records=rest.Json(metadata_columns=…)"),
    (read.random, "max_row", "'max_rows'"),
    (read.random, "maxRowsPerBatch", "limits=Limits(rows=…)"),
    (read.ingest, "protocoll", "'protocol'"),
    (read.jdbc, "tabel", "'table'"),
    (read.checkpoint_log, "option", "'options'"),
    (write.jdbc, "dbtable", "table=…"),
    (write.jdbc, "key_columns", "mode=jdbc.Upsert(key_columns=…)"),
    (write.jdbc, "checkpoint_location", "'checkpoint'"),
    (write.jdbc_options, "sinkId", "sink_id=…"),
    (write.rest, "header", "'headers'"),
    (write.rest_options, "batch_size", "batch=rest.Batch(rows=…)"),
    (rest.Offset, "sise", "'size'"),
    (rest.Offset, "pageSize", "size=…"),
    (Http, "attempts", "retry=Retry(attempts=…)"),
    (Limits, "row", "'rows'"),
    (epochal.display, "nam", "'name'"),
    (epochal.watch, "evry", "'every'"),
    (epochal.await_all, "time_out", "'timeout'"),
    (epochal.ledger, "pasword", "'password'"),
    (epochal.checkpoint, "sparc", "'spark'"),
    (epochal.ingest.address, "time", "'timeout'"),
    (rest.probe, "header", "'headers'"),
    (testing.check_source, "option", "'options'"),
    (read.rest, "zzz", ""),
]


@pytest.mark.parametrize(("function", "argument", "meant"), EXPECTED)
def test_the_argument_that_was_meant_is_named(function: Callable[..., Any], argument: str, meant: str) -> None:
    with pytest.raises(TypeError) as caught:
        function(**{argument: 1})
    _, problem, suggestion = str(caught.value).partition(f"() got an unexpected keyword argument '{argument}'")
    assert problem
    assert suggestion == (f". Did you mean {meant}?" if meant else "")


def test_the_traceback_ends_at_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    _hooks.install()
    with pytest.raises(TypeError) as caught:
        rest.Page(sise=1)  # type: ignore[call-arg]
    sys.excepthook(caught.type, caught.value, caught.tb)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "TypeError: Page.__init__() got an unexpected keyword argument 'sise'. Did you mean 'size'?"
    assert [line for line in lines if "epochal/_arguments.py" in line] == []
    assert type(pickle.loads(pickle.dumps(caught.value))) is TypeError


@pytest.mark.parametrize("function", [read.rest, write.jdbc, epochal.display, rest.Offset])
def test_the_signature_is_the_functions_own(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    assert "named" not in parameters
    assert "options" in parameters or "size" in parameters or "rows" in parameters


def test_values_are_compared_and_pickled_as_before() -> None:
    value = jdbc.Upsert(key_columns=["id"])
    assert pickle.loads(pickle.dumps(value)) == value == jdbc.Upsert(key_columns=("id",))
    assert repr(Retry(attempts=5)) == "Retry(attempts=5)"
