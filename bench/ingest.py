"""Lines of 100 bytes over TCP into a durable journal, and from there into a query.

The baseline is what a user could write in a few lines: an asyncio server that appends the lines to a file, syncs it and
acknowledges, without offsets, replay or a query. Listener, query and client share the machine.
"""

from __future__ import annotations

import sys
import tempfile

from listeners import Contest, ours, program
from steady import session

ENDPOINT = """
import asyncio, os, sys

file = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY | os.O_APPEND)

async def serve(reader, writer):
    lines, rest = 0, b""
    while block := await reader.read(65536):
        whole, end, rest = (rest + block).rpartition(b"\\n")
        if end:
            os.write(file, whole + end)
            os.fdatasync(file)
            lines += whole.count(b"\\n") + 1
            writer.write(b"OK %d\\n" % lines)
    writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()

asyncio.run(main())
"""


def main() -> bool:
    spark = session()
    contest = Contest("TcpLoad.java", goal=200_000, connections=8, at_once=500, at_once_calm=10)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=".", ignore_cleanup_errors=True) as directory:
        contenders = {
            "epochal-ingest, with a query": lambda: ours(spark, directory, protocol="tcp", ack="true"),
            "asyncio, fsync": lambda: program(ENDPOINT, f"{directory}/lines"),
        }
        return contest.run("ingest: lines of 100 bytes over TCP, 8 connections", contenders)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
