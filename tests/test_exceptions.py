"""Conversion of Spark's exceptions to Epochal's, without a session."""

from __future__ import annotations

import pickle
import re

import pytest

import epochal
from epochal._calls import Call, attribute, calling
from epochal._declarations import JDBC, REST, REST_SINK, Form
from epochal._references import in_python
from epochal.errors import _TYPES, from_spark, named

GAP = "[EPOCHAL.EPOCH_GAP] The query commits epoch 9. Hint: Restore the checkpoint. It is old."


def test_an_error_is_found_in_the_message_of_a_failed_query() -> None:
    found = from_spark(RuntimeError(f"[STREAM_FAILED] Query [id = 1] terminated with exception: {GAP} SQLSTATE: XXKST"))
    assert isinstance(found, epochal.EpochGapError)
    assert found.condition == "EPOCH_GAP"
    assert found.problem == "The query commits epoch 9."
    assert found.hint == "Restore the checkpoint. It is old."
    assert str(found) == GAP


def test_the_stack_trace_of_the_jvm_is_left_out() -> None:
    found = from_spark(RuntimeError(f"An error occurred\n: io.epochal.X: {GAP}\n\tat io.epochal.Y(Z.scala:1)\n"))
    assert found is not None
    assert found.hint == "Restore the checkpoint. It is old."


def test_a_problem_may_have_several_lines() -> None:
    found = from_spark(RuntimeError("[EPOCHAL.HTTP_STATUS] http://x answered: a\nb\n Hint: Look."))
    assert isinstance(found, epochal.HttpError)
    assert found.problem == "http://x answered: a\nb\n"


def test_an_error_is_found_among_the_causes() -> None:
    error = RuntimeError("something else")
    error.__cause__ = ValueError(GAP)
    assert isinstance(from_spark(error), epochal.EpochGapError)


def test_an_unknown_condition_is_still_an_epochal_error() -> None:
    found = from_spark(RuntimeError("[EPOCHAL.FROM_THE_FUTURE] Something. Hint: Wait."))
    assert type(found) is epochal.EpochalError
    assert found.condition == "FROM_THE_FUTURE"


SECOND_DRIVER = (
    "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [CONCURRENT_STREAM_LOG_UPDATE] Concurrent "
    "update to the log. Multiple streaming jobs detected for 7.\nPlease make sure only one streaming job runs on a "
    "specific checkpoint location at a time. SQLSTATE: 40000\n=== Streaming Query ===\n{source}"
)


def test_a_run_whose_epoch_another_driver_has_logged_says_what_to_do() -> None:
    found = from_spark(RuntimeError(SECOND_DRIVER.format(source="epochal-random[...]")))
    assert isinstance(found, epochal.SinkFencedError)
    assert found.condition == "EPOCH_LOGGED_BY_OTHER"
    assert found.problem.startswith("Another run has logged epoch 7 in the checkpoint.")
    assert "stop one of them, and start the other again" in found.hint
    assert from_spark(RuntimeError(SECOND_DRIVER.format(source="FileSink[/data/epochal/out]"))) is None


def test_other_exceptions_are_not_converted() -> None:
    assert from_spark(ValueError("no")) is None
    assert from_spark(None) is None


def test_named_raises_ours_from_sparks() -> None:
    spark_error = RuntimeError(GAP)
    with pytest.raises(epochal.SinkError) as caught, named():
        raise spark_error
    assert caught.value.original is spark_error
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_named_does_not_change_other_exceptions() -> None:
    with pytest.raises(KeyError), named():
        raise KeyError("x")


def test_an_error_survives_pickling() -> None:
    error = epochal.DataLossError("DATA_LOSS", "gone", "look")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.hint) == (type(error), str(error), "look")


def call(form: Form, **options: str) -> Call:
    return Call(form, form.kinds(options.get))


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        (
            "Set {option:onNewQuery=append} for one start.",
            'Set ledger=jdbc.Ledger(on_new_query="append") for one start.',
        ),
        ("Set {option:createTable=true}, or '{option:dbtable}'.", "Set create_table=True, or 'table'."),
        ("Set {option:keyColumns=id}, or several.", 'Set mode=jdbc.Upsert(key_columns=["id"]), or several.'),
        ("Is it {option:keyColumns=id,name}?", 'Is it mode=jdbc.Upsert(key_columns=["id", "name"])?'),
        ("Is it {option:columnMap=a:b,c:d}?", 'Is it columns=jdbc.Columns(map={"a": "b", "c": "d"})?'),
        (
            "{option:retry.maxAttempts} and {option:retry.deadline} say how long.",
            "Retry(attempts=…) and Retry(deadline=…) say how long.",
        ),
        ("Set it, for example {option:pageSize=100}.", "Set it, for example pages=rest.Offset(size=100)."),
        ("Set {option:pagination=link or next-url}.", "Set pages=rest.Link(…) or rest.NextUrl(…)."),
        ("The option '{option:pageSize}' is 'x'.", "The option 'rest.Offset(size=…)' is 'x'."),
        ("Set {option:passwordFile=/run/secrets/db}.", 'Set password=Secret.file("/run/secrets/db").'),
        (
            "The secret cannot be read from {option:passwordEnv=DB_PASWORD}.",
            'The secret cannot be read from password=Secret.env("DB_PASWORD").',
        ),
        ("Is it {option:bearerTokenEnv=TOKEN}?", 'Is it auth=rest.Bearer(token=Secret.env("TOKEN"))?'),
        ("Set {option:passwordEnv}.", 'Set password=Secret.env("…").'),
        ("The records, pageSize and createTable=true.", "The records, pageSize and createTable=true."),
        ("Correct {option:records=/data}.", 'Correct records=rest.Json(pointer="/data").'),
        ('Set {option:requestBody={"size": ${n}}} then.', 'Set request_body="{"size": ${n}}" then.'),
        ("Is it {option:url=…{id}…}?", 'Is it url="…{id}…"?'),
        ("Give {schema:id INT, a STRING}.", 'Give schema="id INT, a STRING".'),
        (
            "Use {trigger:processingTime=10 seconds} or {trigger:availableNow}.",
            'Use trigger="10 seconds" or trigger="availableNow".',
        ),
        ("Set {option:alphabet=abc} or {option:noneOfAny=1}.", "Set alphabet=abc or noneOfAny=1."),
    ],
)
def test_options_are_named_as_arguments_of_python(markup: str, expected: str) -> None:
    assert in_python(markup, [call(JDBC), call(REST)]) == expected


def test_a_hint_names_the_value_whose_options_are_set() -> None:
    csv = call(REST, pagination="link", bodyFormat="csv")
    assert in_python("Raise {option:maxPages}.", [csv]) == "Raise rest.Link(max_pages=…)."
    assert in_python("Set {option:mode=PERMISSIVE}.", [csv]) == 'Set records=rest.Csv(mode="PERMISSIVE").'
    one_page = in_python("Set {option:endOfList=assumed}.", [call(REST)])
    assert one_page == 'Set pages=rest.NoPages(end_of_list="assumed").'
    windows = call(REST, pagination="time-window", windowPagination="page")
    assert in_python("{option:pageSize=5}", [windows]) == "pages=rest.TimeWindow(pages=rest.Page(size=5))"
    assert in_python("Lower {option:batchSize=5}.", [call(REST_SINK)]) == "Lower batch=rest.Batch(rows=5)."


class SparksError(RuntimeError):
    """Spark's exception with message parameters."""

    def __init__(self, markup: str, outer: str = "{}") -> None:
        super().__init__(outer.format(re.sub(r"\{option:(.*?)\}", r"\1", markup)))
        self.markup = markup

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802
        return {"markup": self.markup}


def hint(markup: str, outer: str = "{}") -> str:
    found = from_spark(SparksError(markup, outer))
    assert found is not None
    return found.hint


def test_a_hint_names_the_callers_arguments() -> None:
    missing = "[EPOCHAL.TABLE_MISSING] No table. Hint: Set {option:createTable=true}."
    pages = "[EPOCHAL.OPTION_INVALID] No. Hint: Set {option:pageSize=100}."
    assert hint(missing) == "Set createTable=true."
    with calling([call(JDBC), call(REST)]):
        assert hint(missing) == "Set create_table=True."
        assert hint(pages) == "Set pages=rest.Offset(size=100)."
    assert hint(pages) == "Set pageSize=100."


def test_a_hint_of_a_query_names_the_values_of_that_query() -> None:
    query = "Query [id = 1, runId = {}] terminated with exception: {{}}"
    pages = "[EPOCHAL.TOO_MANY_PAGES] Many. Hint: Raise {option:maxPages}, or {option:retry.deadline=1m}."
    cursor, link, other = (f"{n}a3f0f3c-9f0e-4c0e-9d0a-3f1f0c1f2a3b" for n in range(3))
    attribute(cursor, [call(JDBC), call(REST, pagination="cursor")])
    attribute(link, [call(JDBC), call(REST, pagination="link")])
    http = 'http=Http(retry=Retry(deadline="1m"))'
    assert hint(pages, query.format(cursor)) == f"Raise rest.Cursor(max_pages=…), or {http}."
    assert hint(pages, query.format(link)) == f"Raise rest.Link(max_pages=…), or {http}."
    assert hint(pages, query.format(other)) == "Raise maxPages, or retry.deadline=1m."
    lost = "[EPOCHAL.DATABASE_ERROR] Lost. Hint: Raise {option:retry.deadline=1m}."
    assert hint(lost, query.format(link)) == 'Raise retry=Retry(deadline="1m").'


def test_a_cause_is_converted_again_for_the_query_that_it_ended() -> None:
    run = "9a3f0f3c-9f0e-4c0e-9d0a-3f1f0c1f2a3b"
    attribute(run, [call(JDBC)])
    cause = from_spark(SparksError("[EPOCHAL.TABLE_MISSING] No table. Hint: Set {option:createTable=true}."))
    outer = RuntimeError(f"Query [id = 1, runId = {run}] terminated with exception: {cause}")
    outer.__cause__ = cause
    found = from_spark(outer)
    assert isinstance(found, epochal.TableError)
    assert (found.hint, found.original) == ("Set create_table=True.", outer)


def test_a_server_error_is_neither_a_source_nor_a_sink_error() -> None:
    for kind in (epochal.HttpError, epochal.DatabaseError):
        assert issubclass(kind, epochal.ServerError)
        assert not issubclass(kind, epochal.SourceError | epochal.SinkError)
    kinds = {kind for kind in _TYPES.values() if kind is not epochal.EpochalError}
    roots = (
        epochal.ConfigurationError,
        epochal.CheckpointError,
        epochal.RepairError,
        epochal.ServerError,
        epochal.SourceError,
        epochal.SinkError,
    )
    assert [kind for kind in kinds if sum(issubclass(kind, root) for root in roots) != 1] == []


def test_an_error_is_also_an_instance_of_sparks_class() -> None:
    from pyspark.errors import AnalysisException

    from epochal._hooks import of_both_kinds

    spark_error = AnalysisException(f"{GAP}")
    found = from_spark(spark_error)
    assert found is not None
    error = of_both_kinds(found, spark_error)
    assert isinstance(error, epochal.EpochGapError)
    assert isinstance(error, AnalysisException)
    assert error.original is spark_error
    assert str(error) == GAP
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (epochal.EpochGapError, GAP)
