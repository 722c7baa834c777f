"""epochal-ingest over HTTP in requests of 100 records, with a query.

The baseline is a FastAPI endpoint that appends to a file and syncs it, without a query. Listener, query and client
share the machine.
"""

from __future__ import annotations

import sys
import tempfile

from listeners import Contest, ours, program
from steady import session

ENDPOINT = """
import os, sys
from fastapi import FastAPI, Request
import uvicorn

app = FastAPI()
kept = open(sys.argv[2], "ab", buffering=0)

@app.post("/")
async def take(request: Request):
    body = await request.body()
    kept.write(body)
    os.fdatasync(kept.fileno())
    return {"records": body.count(b"\\n")}

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
"""


def main() -> bool:
    spark = session()
    contest = Contest("HttpLoad.java", goal=100_000, connections=16, at_once=100, at_once_calm=100)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=".", ignore_cleanup_errors=True) as directory:
        contenders = {
            "epochal-ingest, with a query": lambda: ours(spark, directory, protocol="http"),
            "FastAPI, fsync": lambda: program(ENDPOINT, f"{directory}/kept.ndjson"),
        }
        return contest.run("ingest-http: requests of 100 records, 16 connections", contenders)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
