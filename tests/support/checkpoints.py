"""Small frozen checkpoints, as Spark writes them, for sources that the tests do not run."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from epochal.tools.ledger.model import LedgerRow

QUERY = "0e1a1f5e-7c51-4b58-9c1f-52f7a1f6d001"

SETTINGS = (
    '{"batchWatermarkMs":%d,"batchTimestampMs":1767225600000,"conf":{"spark.sql.shuffle.partitions":"2",'
    '"spark.sql.streaming.stateStore.rocksdb.formatVersion":"5"}}'
)

#: By kind of source, the offset after that many deliveries.
SHAPES = {
    "epochal-rest": '{"v":1,"format":"epochal-rest","source":"https://api.example.com/comments (offset)","records":%d}',
    "epochal-random": '{"v":1,"format":"epochal-random","source":"seed=0","rows":%d,"startedAt":1767225600000}',
    "a counter": "%d",
    "rate-micro-batch": '{"offset":%d,"timestamp":1767225600000}',
    "files": '{"logOffset":%d}',
    "Kafka": '{"clicks":{"0":%d,"1":5}}',
    "Delta": '{"sourceVersion":1,"reservoirId":"6a1c","reservoirVersion":%d,"index":-1,"isStartingVersion":false}',
    "Iceberg": '{"version":1,"snapshot_id":%d,"position":4,"scan_all_files":false}',
    "unknown": "at-%d",
}


def offset(kind: str, delivered: int) -> str:
    """The offset as the source writes it."""
    return SHAPES[kind] % delivered


def offsets_text(*sources: str, version: str = "v1", watermark: int = 0) -> str:
    """An ``offsets`` file, as Spark writes it."""
    return "\n".join([version, SETTINGS % watermark, *sources])


def commit_text(watermark: int = 0, version: str = "v1") -> str:
    """A ``commits`` file."""
    return f'{version}\n{{"nextBatchWatermarkMs":{watermark}}}'


def write(
    directory: Path,
    offsets: Mapping[int, str],
    commits: Sequence[int] | Mapping[int, str],
    *,
    query_id: str | None = QUERY,
    age: float = 3600,
    checksums: bool = False,
) -> Path:
    """Writes a checkpoint whose files are ``age`` seconds old, optionally with placeholders for checksum files."""
    texts = commits if isinstance(commits, Mapping) else {number: commit_text() for number in commits}
    for log, entries in (("offsets", offsets), ("commits", texts)):
        (directory / log).mkdir(parents=True, exist_ok=True)
        for number, text in entries.items():
            (directory / log / str(number)).write_text(text, "utf-8")
            if checksums:
                (directory / log / f".{number}.crc").write_bytes(b"crc")
    if query_id:
        (directory / "metadata").write_text(f'{{"id":"{query_id}"}}', "utf-8")
    quiet(directory, age)
    return directory


def quiet(directory: Path, age: float = 3600) -> Path:
    """Backdates the files of the logs, as for a stopped query."""
    when = time.time() - age
    for log in ("offsets", "commits"):
        for file in (directory / log).iterdir():
            os.utime(file, (when, when))
    return directory


def of_kind(directory: Path, kind: str, *, committed: int = 2) -> Path:
    """Three epochs of one source with ten rows each; those up to ``committed`` are committed."""
    texts = {n: offsets_text(offset(kind, 10 * (n + 1))) for n in range(3)}
    return write(directory, texts, range(committed + 1))


def row(last_epoch: int | None, **values: Any) -> LedgerRow:
    """The ledger's row of the query."""
    now = datetime.now(timezone.utc)
    known = LedgerRow(
        sink_id="comments",
        v=1,
        query_id=QUERY,
        target="public.comments",
        target_oid=4711,
        last_epoch=last_epoch,
        trigger_mode="micro-batch",
        offsets_hash=None,
        digest="0" * 16,
        rows=10,
        epochs=3,
        total_rows=30,
        generation=1,
        run_id="run",
        server_id="sqlite",
        timeline=None,
        created_at=now,
        updated_at=now,
    )
    return dataclasses.replace(known, **values)
