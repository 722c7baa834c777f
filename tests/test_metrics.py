"""Gauges of queries as Prometheus scrapes them; the page and the dashboard list exactly these."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from math import isnan
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from support import api, documents, orders
from support.data import SCHEMA, comments
from support.databases import new_postgres
from support.places import ROOT, over_connect
from support.scripts import run_script

pytestmark = [
    pytest.mark.slow,
    pytest.mark.line,
    pytest.mark.skipif(over_connect(), reason="the session is the test's own, with a driver that it asks by HTTP"),
]

PAGE = documents.page("docs/metrics.md")
SCRAPE = ROOT / "docs" / "monitoring" / "prometheus.yml"
DASHBOARD = ROOT / "docs" / "monitoring" / "grafana.json"

#: Script whose metrics are read over HTTP when all rows are delivered, and again after the queries have ended.
PROGRAM = """
import socket, time, urllib.request
from epochal import Http, Retry, cdc, ingest, rest

settings = {settings!r}
spark = epochal.configure(builder().config(map=settings)).getOrCreate()
page = spark.sparkContext.uiWebUrl + "/metrics/prometheus"

def read():
    with urllib.request.urlopen(page, timeout=60) as response:
        return response.read().decode()

http = Http(retry=Retry(initial_delay="1ms"))
strings = epochal.write.jdbc(
    epochal.read.random(spark, rows_per_batch=100, max_rows=300), {database!r}, table="strings", create_table=True,
    checkpoint={directory!r} + "/strings", query_name="strings", sink_id="warehouse")
comments = epochal.write.rest(
    epochal.read.rest(spark, {api!r}, schema={schema!r}, pages=rest.Offset(size=10),
        poll=rest.Poll(interval="1h"), http=http), {orders!r},
    checkpoint={directory!r} + "/comments", query_name="comments", http=http)
members = epochal.write.jdbc(
    epochal.read.rest(spark, {lists!r}, params={{"post": "${{id}}"}}, each=rest.Each({lists!r}, id="/id"),
        schema={schema!r}, poll=rest.Poll(interval="1h"), http=http).select("id"), {database!r}, table="members",
    create_table=True, checkpoint={directory!r} + "/members", query_name="members", sink_id="members")
server = socket.create_server(("127.0.0.1", 0))
protocols = dict(
    tcp=ingest.Tcp(0, ack=True), http=ingest.HttpServer(0), client=ingest.Tcp(server.getsockname()[1], mode="connect"))
ingested = {{}}
for name, protocol in protocols.items():
    received = epochal.read.ingest(spark, protocol=protocol, event_time_column="receivedAt" if name == "tcp" else None)
    ingested[name] = epochal.write.jdbc(
        received.select("value"), {database!r}, table=name, create_table=True, checkpoint={directory!r} + "/" + name,
        query_name=name, sink_id=name)
orders = epochal.read.cdc(
    spark, {postgres!r}, table={schema_name!r} + ".orders", user="postgres", slot=cdc.Slot({schema_name!r}))
changes = epochal.write.jdbc(
    orders.select("id"), {database!r}, table="changes", create_table=True, checkpoint={directory!r} + "/changes",
    query_name="changes", sink_id="changes")
served, _ = server.accept()
served.sendall(b"one\\ntwo\\nthree\\n")
with socket.create_connection(ingest.address(ingested["tcp"])) as client:
    client.sendall(b"one\\ntwo\\n")
    client.shutdown(socket.SHUT_WR)
    client.makefile().read()
address = "http://%s:%d/" % ingest.address(ingested["http"])
posted = urllib.request.Request(address, b"one", {{"Content-Type": "text/plain"}})
urllib.request.urlopen(posted, timeout=60).close()
queries = (strings, comments, members, changes, *ingested.values())
deadline = time.monotonic() + 60
received = "%s_totalRows_Value{{type=\\"gauges\\"}} 3.0"
for source in "client_source_0_epochal_ingest", "changes_source_0_epochal_cdc":
    while received % source not in read() and time.monotonic() < deadline:
        time.sleep(0.1)
for query in queries:
    query.processAllAvailable()
shown = read()
for query in queries:
    query.stop()
served.close()
deadline = time.monotonic() + 60
while "_driver_epochal_" in read() and time.monotonic() < deadline:
    time.sleep(0.1)
says(shown=shown, left=[line for line in read().splitlines() if "_driver_epochal_" in line])
"""

SETTINGS = {
    "spark.ui.enabled": True,
    "spark.ui.port": 0,
    "spark.metrics.namespace": "night_jobs",
    "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory, postgres_server: str) -> Iterator[dict[str, Any]]:
    """Prometheus's pages: while two queries run that have written all rows, and after their end."""
    directory = tmp_path_factory.mktemp("metrics")
    postgres = new_postgres(postgres_server, f"metrics_{os.getpid()}")
    postgres.execute("CREATE TABLE orders (id INT PRIMARY KEY)", "INSERT INTO orders VALUES (1), (2), (3)")
    with (
        api.serve(api.Api(comments(1, 25))) as source,
        api.serve(api.Api(comments(1, 2))) as lists,
        orders.serve(orders.Orders()) as target,
    ):
        source.failures.extend([429, 503])
        found = run_script(
            PROGRAM.format(
                settings=SETTINGS,
                database=f"jdbc:sqlite:{directory}/strings.db",
                directory=str(directory),
                api=source.url,
                lists=lists.url,
                orders=target.url,
                schema=SCHEMA,
                postgres=postgres.url,
                schema_name=postgres.schema,
            ),
            PYTHONPATH=":".join(sys.path),
        )
        requests = {"source": len(source.requests), "sink": len(target.requests)}
        yield found | {"requests": requests, "applied": sum(target.applied.values())}
    postgres.drop_slot()


def relabelled(shown: str) -> dict[str, dict[str, float]]:
    """A page after the relabeling of ``prometheus.yml``: values by labels, by metric."""
    rules = yaml.safe_load(SCRAPE.read_text("utf-8"))["scrape_configs"][0]["metric_relabel_configs"]
    found: dict[str, dict[str, float]] = {}
    for line in shown.splitlines():
        if not (match := re.fullmatch(r'(\w+)\{type="gauges"\} (\S+)', line)):
            continue
        labels = {"__name__": match[1]}
        for rule in rules:
            if hit := re.fullmatch(rule["regex"], labels.get("__name__", "")):
                if rule.get("action") == "drop":
                    labels = {}
                else:
                    template = re.sub(r"\$\{?(\d)\}?", r"\\g<\1>", rule.get("replacement", "$1"))
                    labels[rule["target_label"]] = hit.expand(template)
        name = labels.pop("__name__", "")
        if name.startswith("epochal_"):
            key = ", ".join(f"{label}={value}" for label, value in sorted(labels.items()))
            found.setdefault(name, {})[key] = float(match[2])
    return found


STRINGS_SOURCE = "application=night_jobs, query=strings, source=0_epochal_random"
STRINGS_SINK = "application=night_jobs, query=strings, sink=warehouse"
COMMENTS_SOURCE = "application=night_jobs, query=comments, source=0_epochal_rest"
COMMENTS_SINK = "application=night_jobs, query=comments, sink=epochal_rest"
TCP, HTTP, CLIENT = (
    f"application=night_jobs, query={name}, source=0_epochal_ingest" for name in ("tcp", "http", "client")
)
MEMBERS = "application=night_jobs, query=members, source=0_epochal_rest"
CDC = "application=night_jobs, query=changes, source=0_epochal_cdc"
INGEST = {TCP: "ingest TCP", HTTP: "ingest HTTP", CLIENT: "ingest connect"}
EVENT_TIME = "epochal_source_eventTimeLag"
OF_MEMBERS = ("epochal_source_members", "epochal_source_membersGone")
#: Metrics of queries with an option.
WITH_OPTION = {EVENT_TIME: "any with an event time"} | dict.fromkeys(OF_MEMBERS, "REST with a parent")


@pytest.mark.slow
def test_prometheus_gets_the_counts_of_read_and_written_rows(facts: dict[str, Any]) -> None:
    found = relabelled(facts["shown"])
    not_ingested = {STRINGS_SOURCE, COMMENTS_SOURCE, STRINGS_SINK, COMMENTS_SINK}

    def of(name: str) -> dict[str, float]:
        return {labels: value for labels, value in found[name].items() if labels in not_ingested}

    assert of("epochal_source_totalRows") == {STRINGS_SOURCE: 300, COMMENTS_SOURCE: 25}
    assert of("epochal_sink_totalRows") == {STRINGS_SINK: 300, COMMENTS_SINK: 25}
    assert of("epochal_sink_totalEpochs") == {STRINGS_SINK: 3, COMMENTS_SINK: 1}
    assert of("epochal_sink_epoch") == {STRINGS_SINK: 2, COMMENTS_SINK: 0}
    assert of("epochal_sink_totalBadRows") == {STRINGS_SINK: 0, COMMENTS_SINK: 0}
    assert of("epochal_sink_repeatedEpochs") == {STRINGS_SINK: 0, COMMENTS_SINK: 0}
    assert of("epochal_source_rowsBehind") == {STRINGS_SOURCE: 0, COMMENTS_SOURCE: 0}
    assert of("epochal_source_rowsBehindExact") == {STRINGS_SOURCE: 1, COMMENTS_SOURCE: 1}
    assert of("epochal_source_requests") == {COMMENTS_SOURCE: facts["requests"]["source"]}
    assert of("epochal_source_retries") == {COMMENTS_SOURCE: 2}
    assert of("epochal_source_throttled") == {COMMENTS_SOURCE: 1}
    assert of("epochal_source_pages") == {COMMENTS_SOURCE: 3}
    assert of("epochal_source_malformed") == {COMMENTS_SOURCE: 0}
    assert found["epochal_sink_requests"] == {COMMENTS_SINK: facts["requests"]["sink"]}
    assert facts["applied"] == 25
    assert all(value >= 0 for name in ("load", "commit") for value in found[f"epochal_sink_{name}Ms"].values())


@pytest.mark.slow
def test_prometheus_gets_the_counts_of_listeners(facts: dict[str, Any]) -> None:
    found = relabelled(facts["shown"])
    received = {TCP: 2, HTTP: 1, CLIENT: 3}
    assert {labels: found["epochal_source_totalRows"][labels] for labels in INGEST} == received
    assert found["epochal_source_acknowledged"] == received
    for name in ("duplicates", "refusedFull", "refusedFailed"):
        assert found[f"epochal_source_{name}"] == dict.fromkeys(INGEST, 0)
    assert found["epochal_source_backlogBytes"] == dict.fromkeys([*INGEST, CDC], 0)
    assert min(found["epochal_source_journalBytes"].values()) > 0
    assert found["epochal_source_connectionsAccepted"] == {TCP: 1}
    assert found["epochal_source_requests"][HTTP] == 1
    assert found["epochal_source_connected"] == {CLIENT: 1}
    assert found["epochal_source_connects"] == {CLIENT: 1}
    assert 0 < found[EVENT_TIME][TCP] < 600


@pytest.mark.slow
def test_prometheus_gets_the_lag_of_a_slot_and_the_progress_of_a_snapshot(facts: dict[str, Any]) -> None:
    found = {name: values[CDC] for name, values in relabelled(facts["shown"]).items() if CDC in values}
    snapshot = {name.removeprefix("epochal_source_snapshot"): value for name, value in found.items() if "snap" in name}
    assert snapshot == {"Tables": 1, "TablesLeft": 0, "Rows": 3, "RowsExpected": 3, "SecondsLeft": 0}
    assert found["epochal_source_retainedWalBytes"] > 0
    assert found["epochal_source_slotLagBytes"] >= 0
    assert isnan(found["epochal_source_safeWalBytes"])


def test_prometheus_gets_the_number_of_lists_that_a_parent_names(facts: dict[str, Any]) -> None:
    found = {name: values[MEMBERS] for name, values in relabelled(facts["shown"]).items() if MEMBERS in values}
    assert [found[name] for name in OF_MEMBERS] == [2, 0]
    assert found["epochal_source_totalRows"] == 4


def test_ended_queries_leave_no_metrics(facts: dict[str, Any]) -> None:
    assert facts["left"] == []


#: Sources or sinks for each heading of the page.
HEADINGS = {
    "Every source": ("random", "REST", "ingest", "cdc"),
    "With `eventTimeColumn`": ("any with an event time",),
    "REST source": ("REST",),
    "REST source with `parent.url`": ("REST with a parent",),
    "`epochal-ingest`": ("ingest",),
    "`epochal-cdc`": ("cdc",),
    "Ingest over TCP": ("ingest TCP",),
    "Ingest over HTTP": ("ingest HTTP",),
    "Ingest with `mode=connect`": ("ingest connect",),
    "Every sink": ("databases", "REST"),
    "Database sink": ("databases",),
    "REST sink": ("REST",),
}


def documented() -> set[str]:
    """Metrics on the page, each with its kinds of sources or sinks."""
    found: list[str] = []
    for section in PAGE.source.split("\n### ")[1:]:
        heading, _, listed = section.partition("\n")
        names = re.findall(r"^- `(epochal_\w+)`: \S", listed, re.MULTILINE)
        found += [f"{name} of {kind}" for name in names for kind in HEADINGS[heading]]
    assert len(found) == len(set(found))
    return set(found)


def test_the_page_lists_exactly_the_shown_metrics(facts: dict[str, Any]) -> None:
    kinds = INGEST | {CDC: "cdc", STRINGS_SOURCE: "random"}
    kinds |= dict.fromkeys((COMMENTS_SOURCE, COMMENTS_SINK, MEMBERS), "REST")
    shown = set()
    for name, values in relabelled(facts["shown"]).items():
        found = {kinds.get(labels, "databases") for labels in values}
        if found >= set(INGEST.values()):
            found = found - set(INGEST.values()) | {"ingest"}
        shown |= {f"{name} of {WITH_OPTION.get(name, kind)}" for kind in found}
    assert shown == documented()


def test_the_dashboard_uses_exactly_the_metrics_of_the_page() -> None:
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\bepochal_\w+", target["expr"])
    }
    plain = {"epochal_source_rowsBehindExact", "epochal_source_port"}
    assert asked == {name.partition(" ")[0] for name in documented()} - plain


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)


def test_the_page_shows_the_tested_settings() -> None:
    shown = PAGE.source
    assert [name for name in SETTINGS if name.startswith("spark.metrics") and name not in shown] == []
    assert [path.name for path in (SCRAPE, DASHBOARD) if f"](monitoring/{path.name})" not in shown] == []
