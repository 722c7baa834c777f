"""Drivers of ``epochal-ingest`` to be killed. The next driver starts its session while the current one runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from support.programs import Program
from support.waiting import until


class Driver(Program):
    """A job that prints ``ready`` and waits for ``go``."""

    def __init__(self, module: str, settings: Mapping[str, object]) -> None:
        super().__init__(module)
        self.send(json.dumps(settings))

    def go(self) -> None:
        def ready() -> bool:
            self.assert_runs()
            return b"ready\n" in self.all_output()

        until(ready, "the job's session")
        self.send("go")


@contextmanager
def drivers(module: str, settings: Mapping[str, object]) -> Iterator[Iterator[Driver]]:
    """Yields started drivers. The caller must kill each before it takes the next."""
    with ExitStack() as stack:

        def start() -> Driver:
            driver = Driver(module, settings)
            stack.callback(driver.kill)
            return driver

        def one_by_one() -> Iterator[Driver]:
            following = start()
            while True:
                present, following = following, start()
                present.go()
                yield present

        yield one_by_one()
