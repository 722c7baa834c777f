"""The return value of ``epochal.display``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from epochal.tools.display import markup
from epochal.tools.display.live import Live
from epochal.tools.display.notebook_cell import Cell, running_cell
from epochal.tools.display.snapshot import Snapshot
from epochal.tools.display.text import text

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.streaming.query import StreamingQuery

#: Seconds between two polls of the query.
INTERVAL = 0.5
#: Maximum seconds for which a stop waits until the front end shows it.
_PATIENCE = 30.0


class Display:
    """A live table or plot, which is updated until the query ends. Its memory is bounded.

    Attributes:
        name: name of the query and of the view for SQL: ``spark.sql(f"SELECT * FROM {display.name}")``. None for a
            static DataFrame without a name.
        query: the running query; None for a static DataFrame.
    """

    def __init__(
        self,
        name: str | None,
        snapshot: Snapshot,
        live: Live | None,
        read: Callable[[], list[Row]],
        origin: Cell | None = None,
    ) -> None:
        self.name = name
        self.query: StreamingQuery | None = None if live is None else live.query
        self._live = live
        self._read = read
        self._snapshot = snapshot
        self._change = threading.Condition()
        self._show: Callable[[Snapshot], None] = lambda _: None
        self._again: Callable[[], None] | None = None
        self._shown_in: Cell | None = None
        self._origin = origin
        self._poller = None if live is None else Poller(live, self._publish, str(name))

    def rows(self) -> list[Row]:
        """The current rows, as Python values: the last rows of a stream, or the first rows of a complete result.

        They are kept after the query has ended, until the session ends or the view is dropped.
        """
        return self._read()

    def stop(self) -> None:
        """Stops the query and waits until the front end shows it; no effect on an ended query or a static DataFrame."""
        if self._live is None or self._poller is None or self._snapshot.status.is_over:
            return
        self._live.is_stopping = self._live.is_stopping or bool(self._live.query.isActive)
        self._live.query.stop()
        self._poller.hurry()
        self._poller.join(_PATIENCE)

    def _drop(self) -> None:
        if self._live is not None:
            self._live.drop()

    def __repr__(self) -> str:
        return text(self._snapshot)

    def _repr_html_(self) -> str:
        return markup.html(self._snapshot)

    def _ipython_display_(self) -> None:
        """Draws the display in a notebook cell, except again in the cell that called ``display``."""
        if self._again is None:
            print(self)
        elif self._shown_in != running_cell():
            self._again()

    def _begin(
        self, show: Callable[[Snapshot], None] = lambda _: None, again: Callable[[], None] | None = None
    ) -> None:
        """Polls the query, and shows each later snapshot.

        Args:
            show: draws a snapshot; called on the poller's thread.
            again: shows the display once more, in another cell of a notebook.
        """
        self._show, self._again, self._shown_in = show, again, running_cell()
        if self._poller is not None:
            self._poller.start()

    def _publish(self, snapshot: Snapshot) -> None:
        with self._change:
            self._snapshot = snapshot
            self._change.notify_all()
        self._show(snapshot)

    def _next(self, before: Snapshot | None, timeout: float) -> Snapshot:
        """Waits for a snapshot other than ``before``; returns the same one after ``timeout`` seconds."""
        with self._change:
            self._change.wait_for(lambda: self._snapshot is not before, timeout)
            return self._snapshot


class Poller:
    """Polls a query on its own thread until the query has ended.

    Front ends receive every snapshot on that thread. A terminal draws on the thread that called ``display``, so that
    Ctrl-C never interrupts a call to the driver.
    """

    def __init__(self, live: Live, publish: Callable[[Snapshot], None], name: str) -> None:
        self._live = live
        self._publish = publish
        self._now = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"epochal-display-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def hurry(self) -> None:
        """Polls immediately."""
        self._now.set()

    def join(self, timeout: float) -> None:
        """Waits until the final snapshot is published."""
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        is_over = False
        while not is_over:
            try:
                snapshot = self._live.look()
            except Exception as error:
                snapshot = self._live.lost(error)
            is_over = snapshot.status.is_over
            self._publish(snapshot)
            if not is_over and self._now.wait(INTERVAL):
                self._now.clear()
