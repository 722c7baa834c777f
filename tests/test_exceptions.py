"""Spark's exceptions become Epochal's, without a session."""

from __future__ import annotations

import pickle

import pytest

import epochal
from epochal._forms import JDBC, REST, REST_SINK
from epochal._names import helper, in_python, started
from epochal.errors import _TYPES, from_spark, named

pytestmark = pytest.mark.usefixtures("no_earlier_calls")


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


def test_an_unknown_condition_is_still_an_error_of_ours() -> None:
    found = from_spark(RuntimeError("[EPOCHAL.FROM_THE_FUTURE] Something. Hint: Wait."))
    assert type(found) is epochal.EpochalError
    assert found.condition == "FROM_THE_FUTURE"


def test_other_exceptions_are_not_ours() -> None:
    assert from_spark(ValueError("no")) is None
    assert from_spark(None) is None


def test_named_raises_ours_from_sparks() -> None:
    spark_error = RuntimeError(GAP)
    with pytest.raises(epochal.SinkError) as caught, named():
        raise spark_error
    assert caught.value.original is spark_error
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_named_leaves_other_exceptions_alone() -> None:
    with pytest.raises(KeyError), named():
        raise KeyError("x")


def test_an_error_survives_pickling() -> None:
    error = epochal.DataLossError("DATA_LOSS", "gone", "look")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.hint) == (type(error), str(error), "look")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Set onNewQuery=append for one start.", 'Set ledger=jdbc.Ledger(on_new_query="append") for one start.'),
        (
            "Create it, set createTable=true, or correct 'dbtable'.",
            "Create it, set create_table=True, or correct 'table'.",
        ),
        ("Set keyColumns=id, or several names.", 'Set mode=jdbc.Upsert(key_columns=["id"]), or several names.'),
        ("Did you mean keyColumns=id,name?", 'Did you mean mode=jdbc.Upsert(key_columns=["id", "name"])?'),
        ("Did you mean columnMap=a:b,c:d?", 'Did you mean columns=jdbc.Columns(map={"a": "b", "c": "d"})?'),
        (
            "retry.maxAttempts and retry.deadline say how long.",
            "Retry(attempts=…) and Retry(deadline=…) say how long.",
        ),
        ("Set it, for example pageSize=100.", "Set it, for example pages=rest.Offset(size=100)."),
        ("Set 'pagination', for example pagination=link.", "Set 'pages', for example pages=rest.Link(…)."),
        ("The option 'pageSize' is 'x'.", "The argument 'rest.Offset(size=…)' is 'x'."),
        ("Set passwordFile=/run/secrets/db.", 'Set password=Secret.file("…").'),
        ("The driver reads the records.", "The driver reads the records."),
        (
            "Correct 'records', like records=/data.",
            "Correct 'rest.Json(pointer=…)', like records=rest.Json(pointer=\"/data\").",
        ),
        ('Give .schema("id INT, a STRING").', 'Give schema="id INT, a STRING".'),
        (
            'Use .trigger(processingTime="10 seconds") or .trigger(availableNow=True).',
            'Use trigger="10 seconds" or trigger="availableNow".',
        ),
        ("http://x/a?pageSize=3&maxPages=4 answered", "http://x/a?pageSize=3&maxPages=4 answered"),
        ("Raise spark.driver.maxResultSize.", "Raise spark.driver.maxResultSize."),
    ],
)
def test_options_are_named_as_arguments_of_python(text: str, expected: str) -> None:
    assert in_python(text, ("epochal-jdbc", "epochal-rest", "epochal-random")) == expected


def test_the_value_that_was_given_is_the_one_that_is_named() -> None:
    with helper(REST, {"pages": epochal.rest.Link(), "records": epochal.rest.Csv()}):
        assert in_python("Raise maxPages.", ("epochal-rest",)) == "Raise rest.Link(max_pages=…)."
        assert in_python("Set mode=PERMISSIVE.", ("epochal-rest",)) == 'Set records=rest.Csv(mode="PERMISSIVE").'
    with helper(REST, {}):
        assert (
            in_python("Set endOfList=assumed.", ("epochal-rest",)) == 'Set pages=rest.NoPages(end_of_list="assumed").'
        )
    with helper(REST_SINK, {"url": "x"}):
        assert in_python("Lower batchSize=5.", ("epochal-rest sink",)) == "Lower batch=rest.Batch(rows=5)."


def test_hints_name_what_their_reader_wrote() -> None:
    message = "[EPOCHAL.TABLE_MISSING] No table. Hint: Set createTable=true."
    query = "Query [id = 1, runId = {}] terminated with exception: " + message
    ours, other = "6a3f0f3c-9f0e-4c0e-9d0a-3f1f0c1f2a3b", "00000000-9f0e-4c0e-9d0a-3f1f0c1f2a3b"
    started(ours, JDBC)

    def hint(text: str) -> str:
        found = from_spark(RuntimeError(text))
        assert found is not None
        return found.hint

    assert hint(query.format(ours)) == "Set create_table=True."
    assert hint(query.format(other)) == "Set createTable=true."
    with helper(JDBC, {}):
        assert hint(message) == "Set create_table=True."
        assert hint("[EPOCHAL.OPTION_INVALID] No. Hint: Set pageSize=100.") == "Set pages=rest.Offset(size=100)."
    assert hint("[EPOCHAL.OPTION_INVALID] No. Hint: Set pageSize=100.") == "Set pageSize=100."


def test_a_server_that_fails_is_neither_the_source_s_nor_the_sink_s_error() -> None:
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


def test_an_error_is_of_sparks_class_too() -> None:
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
