"""Headless Chromium, driven over the DevTools protocol, and a JupyterLab for it."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.waiting import until

if TYPE_CHECKING:
    from websocket import WebSocket

#: The first installed one, or None.
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def missing() -> str:
    """Missing requirements of the tests on this machine; empty if there are none."""
    packages = [name for name in ("jupyterlab", "websocket") if importlib.util.find_spec(name) is None]
    return ", ".join([*packages, *([] if PROGRAM else ["chromium"])])


class Page:
    """One page of a browser."""

    def __init__(self, connection: WebSocket) -> None:
        self._connection = connection
        self._number = 0

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command of the protocol; returns its result."""
        self._number += 1
        self._connection.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            response: dict[str, Any] = json.loads(self._connection.recv())
            if response.get("id") == self._number:
                assert "error" not in response, response["error"]
                result: dict[str, Any] = response["result"]
                return result

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, f"{expression}: {done['exceptionDetails']}"
        return done["result"].get("value")

    def until(self, expression: str, timeout: float = 60) -> Any:
        """Waits until a JavaScript expression is true, and returns its value."""
        return until(lambda: self.evaluate(expression), expression, timeout)

    def screenshot(self, file: Path, element: str | None = None) -> None:
        """Writes a PNG of the page, or of the element that a JavaScript expression selects."""
        clip: dict[str, Any] = {}
        if element is not None:
            box = self.evaluate(f"{element}.getBoundingClientRect().toJSON()")
            clip = {"clip": {side: box[side] for side in ("x", "y", "width", "height")} | {"scale": 1}}
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"]))


@contextmanager
def page(place: Path) -> Iterator[Page]:
    """An empty page, high enough for JupyterLab to draw all cells of a notebook: it omits cells outside the viewport.

    Args:
        place: directory for the browser's files.
    """
    from websocket import create_connection

    assert PROGRAM is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    options += ["--remote-debugging-port=0", f"--user-data-dir={place}", "--window-size=1280,2600", "about:blank"]
    process = subprocess.Popen([PROGRAM, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        chosen = place / "DevToolsActivePort"
        until(lambda: process.poll() is not None or (chosen.is_file() and chosen.read_text().strip()), PROGRAM, 60)
        port = chosen.read_text().split()[0]
        targets = json.loads(_text(f"http://127.0.0.1:{port}/json/list"))
        address = next(target["webSocketDebuggerUrl"] for target in targets if target["type"] == "page")
        connection = create_connection(address, timeout=60, suppress_origin=True)
        try:
            yield Page(connection)
        finally:
            connection.close()
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def jupyter_lab(notebook: Path) -> Iterator[str]:
    """Yields the URL of a notebook in a JupyterLab, whose application is ``jupyterapp`` in the page."""
    place, token = notebook.parent, secrets.token_hex()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0", "--ip=127.0.0.1"]
    command += [f"--ServerApp.root_dir={place}", "--LabApp.expose_app_in_browser=True"]
    settings = place / "config" / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir(parents=True)
    asks_nobody = {"fetchNews": "false", "checkForUpdates": False}
    settings.write_text(json.dumps({"@jupyterlab/apputils-extension:notification": asks_nobody}))
    environment = os.environ | {"JUPYTER_CONFIG_DIR": str(place / "config"), "JUPYTER_TOKEN": token}
    log = place / "lab.log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT, cwd=place, env=environment)
    try:
        port = until(lambda: _port(log, process), "JupyterLab", 120)
        yield f"http://127.0.0.1:{port}/lab/tree/{notebook.name}?token={token}"
    finally:
        process.terminate()
        process.wait(60)


def _port(log: Path, process: subprocess.Popen[bytes]) -> str | None:
    said = log.read_text("utf-8", errors="replace")
    assert process.poll() is None, said
    found = re.search(r"is running at:\s.* http://127\.0\.0\.1:(\d+)/lab", said)
    return found[1] if found else None


def _text(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as response:
        return str(response.read().decode("utf-8"))
