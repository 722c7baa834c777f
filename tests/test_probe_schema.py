"""``rest.probe`` without Spark: columns of JSON, NDJSON and CSV, and doubts about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from epochal.tools.probe import body as bodies
from epochal.tools.probe import schema
from support import lists
from support.lists import json_of
from support.probing import probed, run_helper, serving_body


@pytest.mark.parametrize(
    ("values", "kind", "doubt"),
    [
        ([1, 2], "BIGINT", ""),
        ([1, 2.5], "DOUBLE", ""),
        ([True, None], "BOOLEAN", ""),
        (["a", None], "STRING", ""),
        ([None, None], "STRING", "only null in 2 records"),
        ([1, "a"], "STRING", "mixed types (text, whole number)"),
        ([True, 1], "STRING", "mixed types (boolean, whole number)"),
        ([2**53 + 1], "BIGINT", "above 2^53"),
        ([2**64], "DECIMAL(38,0)", "do not fit BIGINT"),
        ([10**40], "STRING", "do not fit BIGINT"),
        (["1234567890123456789"], "STRING", "numbers of up to 19 digits, as texts"),
        (["007"], "STRING", "leading zeros"),
        (["12.50", "10"], "STRING", "numbers with a fraction or an exponent, as texts"),
        (["12,50", "1.234,5", "-.5", "1e5"], "STRING", "numbers with a fraction"),
        (["1.2.3"], "STRING", ""),
        (["true", "False"], "STRING", "true and false, as texts"),
        (["2026-01-01"], "DATE", ""),
        (["2026-02-31"], "STRING", "dates or times in another form"),
        (["31/12/2026", "1.2.2026 10:00"], "STRING", "dates or times"),
        (["Thu, 26 Nov 2026 10:00:00 GMT", "Nov 26, 2026"], "STRING", "dates or times"),
        (["2026-01-01T00:00Z", "2026-01-01"], "STRING", "dates or times"),
        (["may 2026", "10-11"], "STRING", ""),
        (["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456+02:00"], "TIMESTAMP", ""),
        (["2026-01-01T00:00:00"], "STRING", "without a time zone"),
        (["2026-01-01T00:00:00Z", "2026-01-01T00:00:00"], "STRING", "without a time zone"),
        (["2026-01-01T00:00:00.123456789Z"], "STRING", "more than microseconds"),
        ([[1], [2]], "ARRAY<BIGINT>", ""),
        ([[]], "ARRAY<STRING>", "only empty arrays"),
        ([{"a b": 1}, {"c": None}], "STRUCT<`a b`: BIGINT, c: STRING>", "c: only null"),
        ([{}], "STRING", "only empty objects"),
        ([{"2026-01-01": 1, "2026-01-02": 2}], "MAP<STRING, BIGINT>", "read as a map"),
        ([0.1234567890123456789], "DOUBLE", ""),
    ],
)
def test_the_type_of_a_column(values: list[Any], kind: str, doubt: str) -> None:
    body = json.dumps([{"field": value} for value in values]).encode()
    records = bodies._json(body)
    found = schema.infer(records, texts=False)
    assert found.ddl == f"field {kind}"
    assert any(doubt in text for text in found.doubts) if doubt else True
    assert bool(doubt) or found.doubts == () or "15 digits" in found.doubts[0]


@pytest.mark.parametrize(
    ("name", "values", "doubt"),
    [
        ("created_at", [1767225600], "seconds since 1970"),
        ("updatedAt", [1767225600000], "milliseconds since 1970"),
        ("views", [1767225600], ""),
    ],
)
def test_numeric_timestamps_are_doubted(name: str, values: list[int], doubt: str) -> None:
    found = schema.infer([{name: value} for value in values], texts=False)
    assert found.columns == ((name, "BIGINT"),)
    assert any(doubt in text for text in found.doubts) == bool(doubt) if doubt else found.doubts == ()


def test_names_that_differ_only_in_case_share_a_column() -> None:
    found = schema.infer([{"id": 1, "ID": 2}], texts=False)
    assert found.ddl == "id BIGINT"
    assert "Spark does not distinguish its name from 'id'" in found.doubts[0]


@pytest.mark.parametrize(
    ("body", "ddl", "options"),
    [
        (b"id,at,ok,n\n1,2026-01-01,true,1.5\n2,,false,2\n", "id BIGINT, at DATE, ok BOOLEAN, n DOUBLE", {}),
        (b"1\t007\n2\t008\n", "_c0 BIGINT, _c1 STRING", {"header": "false", "sep": "\t"}),
        (b'\xef\xbb\xbf"id";"a;b"\r\n1;"x\ny"\r\n', "id BIGINT, `a;b` STRING", {"sep": ";"}),
        (b"id,x,x\n1,2,3\n", "id BIGINT", {}),
    ],
)
def test_the_columns_of_csv(body: bytes, ddl: str, options: dict[str, str]) -> None:
    with serving_body(body, Content_Type="text/csv") as api:
        found = probed(api.url)
    assert found.schema == ddl
    assert options.items() <= found.options.items()
    assert ("header" in found.options) == ("header" in options)


def test_lines_of_json_with_any_content_type_are_ndjson() -> None:
    with serving_body(b'{"id": 1}\n\n{"id": 2, "a": {"b": []}}\n') as api:
        found = probed(api.url)
    assert found.options["bodyFormat"] == "ndjson"
    assert found.schema == "id BIGINT, a STRUCT<b: ARRAY<STRING>>"


def test_a_long_schema_is_printed_in_pieces() -> None:
    wide = [{f"column, {number}": 10**30 if number % 2 else number for number in range(40)}]
    with lists.serving(lambda api, request: json_of(wide)) as api:
        found = probed(api.url)
    assert run_helper(found.call)[1]["schema"] == found.schema
    assert max(map(len, found.call.splitlines())) < 120
