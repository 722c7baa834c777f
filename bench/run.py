"""Runs the benchmarks named on the command line, or all. Exits with 1 when a goal is missed."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = {
    "random": "random_source",
    "latency": "latency",
    "rest": "rest",
    "rest-latency": "rest_latency",
    "rest-idle": "rest_idle",
    "rest-memory": "rest_memory",
    "rest-page": "rest_page",
    "rest-members": "rest_members",
    "rest-postgres": "rest_postgres",
    "ingest": "ingest",
    "rest-sink": "rest_sink",
    "jdbc": "jdbc",
    "jdbc-latency": "jdbc_latency",
    "jdbc-far": "jdbc_far",
    "ingest-http": "ingest_http",
    "cdc": "cdc",
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    met = [importlib.import_module(BENCHMARKS[name]).main() for name in names or BENCHMARKS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
