"""An API whose responses link to the next page."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from support.api import Answer, Api, Record, Request
from support.data import COLUMNS, comments

PAGE = 10


@dataclass
class ChainedApi(Api):
    """Serves its records in pages of ten, as ``data``.

    Parameters: ``after=<cursor>``, ``since=<id>`` (the page after that record; ids count from 1), or those of ``Api``.
    With ``from`` and ``to``, milliseconds since 1970, it returns only records of that period: the time of a record is
    that of the first request that finds it.
    ``meta`` has the next page as cursor and as URL, the flag ``more``, and a URL on another host (``foreign``). With
    ``format=csv`` a page is CSV with a ``Link`` header.
    """

    moments: list[int] = field(default_factory=list)
    stamping: threading.Lock = field(default_factory=threading.Lock)

    def start(self, params: dict[str, str]) -> int | None:
        """Index of the page's first record; None for a request by page number."""
        if "since" in params:
            return int(params["since"])
        return None if "_start" in params or "page" in params else int(params.get("after", "c0")[1:])

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        self.hold.wait(60)
        if self.failures:
            return self.failures.popleft(), b"", {}
        with self.stamping:
            self.moments += [int(time.time() * 1000)] * (len(self.records) - len(self.moments))
        start = self.start(request.params)
        if start is None:
            return 200, json.dumps({"data": self.page(request.params)}).encode(), {}
        records = list(self.records)
        if "from" in request.params:
            first, last = int(request.params["from"]), int(request.params["to"])
            records = [r for r, at in zip(records, self.moments, strict=False) if first <= at < last]
        more = start + PAGE < len(records)
        cursor = f"c{start + PAGE}" if more else None
        if request.params.get("format") == "csv":
            link = {"Link": f'<{self.url}?format=csv&after={cursor}>; rel="next"'} if more else {}
            return 200, as_csv(records[start : start + PAGE]), link
        meta: dict[str, Any] = {"next": cursor, "url": f"{self.url}?after={cursor}" if more else None, "more": more}
        meta["foreign"] = "https://me:s3cret@other.invalid/x?key=s3cret"
        return 200, json.dumps({"data": records[start : start + PAGE], "meta": meta}).encode(), {}

    def asked(self) -> list[str]:
        """Cursors of all requests since the last call; for an id, the cursor of the page after it."""
        asked = [p.get("after", f"c{p['since']}" if "since" in p else "") for p in (r.params for r in self.requests)]
        self.requests.clear()
        return asked


def as_csv(records: list[Record]) -> bytes:
    """Comments in CSV, with a header."""
    text = io.StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


POSTS = (1, 2, 3)


class PostsApi(ChainedApi):
    """Serves the comments of the requested post (``postId=2``), or all comments; at ``/posts`` the posts."""

    def listed(self) -> Iterable[int]:
        """The posts that ``/posts`` lists."""
        return POSTS

    def answer(self, request: Request) -> Answer:
        if request.path == "/posts":
            return 200, json.dumps([{"post": post} for post in self.listed()]).encode(), {}
        if "postId" not in request.params:
            return super().answer(request)
        one = ChainedApi(records=of_post(self.records, int(request.params["postId"])), url=self.url)
        one.hold.set()
        return one.answer(request)


def posts(first: int, count: int) -> list[Record]:
    """Comments with alternating posts."""
    return [comment | {"postId": comment["id"] % len(POSTS) + 1} for comment in comments(first, count)]


def of_post(records: list[Record], post: int) -> list[Record]:
    return [record for record in records if record["postId"] == post]
