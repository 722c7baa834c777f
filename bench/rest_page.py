"""A page that is larger than the driver's heap and is read completely."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pyspark.sql import SparkSession

import epochal

RECORDS = 4_000_000
FIRST_ID = 10_000_000
HEAP = "480m"
BLOCK = 1000
SCHEMA = "id INT, name STRING"
NAME = "lorem ipsum " * 20
MODES = {
    "epochal-rest": epochal.rest.NoPages(),
    "epochal-rest, journalled": epochal.rest.NoPages(journal=True),
    "epochal-rest, by cursor": epochal.rest.Cursor(next="/next"),
}


class Page(BaseHTTPRequestHandler):
    """An API with one page of all records, generated while it is sent."""

    protocol_version = "HTTP/1.1"
    front, behind = b'{"data":[', b'],"next":null}'
    record = f'{{"id":%d,"name":"{NAME}"}}'
    length = len(front) + len(behind) + RECORDS * (len(record % FIRST_ID) + 1) - 1

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(self.length))
        self.end_headers()
        self.wfile.write(self.front)
        for start in range(FIRST_ID, FIRST_ID + RECORDS, BLOCK):
            block = ",".join(self.record % i for i in range(start, start + BLOCK))
            self.wfile.write((block if start == FIRST_ID else "," + block).encode())
        self.wfile.write(self.behind)

    def log_message(self, *_: object) -> None: ...


def read(url: str, mode: str) -> None:
    """Reads the page, in a separate process whose JVM has a small heap."""
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", HEAP)
    spark = epochal.configure(builder).config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    heap = spark._jvm.java.lang.Runtime.getRuntime().maxMemory()
    assert heap < Page.length
    df = epochal.read.rest(
        spark,
        url,
        schema=SCHEMA,
        pages=MODES[mode],
        records=epochal.rest.Json("/data"),
        http=epochal.Http(max_response_bytes="2g"),
    )
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as checkpoint:
        writer = df.groupBy().sum("id").writeStream.format("memory").queryName("total").outputMode("complete")
        started = time.perf_counter()
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - started
    total = spark.table("total").first()[0]
    assert total == RECORDS * FIRST_ID + RECORDS * (RECORDS - 1) // 2, total
    print(
        f"  {mode:<40} {Page.length / 1e6:>8.1f} MB {heap / 1e6:>8.1f} MB   {seconds:.1f} s, "
        f"{RECORDS / seconds:,.0f} rows/s   goal read whole: met"
    )


def main() -> bool:
    print(f"\nA page of {RECORDS:,} records, and the heap that reads it")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    met = True
    try:
        for mode in MODES:
            url = f"http://127.0.0.1:{server.server_port}/records"
            done = subprocess.run([sys.executable, __file__, url, mode], stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode != 0:
                met = False
                print(f"  {mode:<40} MISSED\n{done.stderr[-2000:]}")
    finally:
        server.shutdown()
    return met


if __name__ == "__main__":
    read(sys.argv[1], sys.argv[2])
