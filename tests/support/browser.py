"""A Chromium without a window, driven over its DevTools protocol, and a JupyterLab for it."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

from support.waiting import until


class Browser:
    """One page of a browser."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: WebSocketClientConnection) -> None:
        self._loop = loop
        self._connection = connection
        self._number = 0

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol; gives its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._loop.run_until_complete(self._sent(json.dumps(message)))
        while True:
            text = self._loop.run_until_complete(asyncio.wait_for(self._received(), 120))
            answer: dict[str, Any] = json.loads(text)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript, or of the promise that it is."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, expression: str, timeout: float = 120) -> Any:
        """Waits until an expression is true."""
        return until(lambda: self.evaluate(expression), expression, timeout)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    async def _sent(self, text: str) -> None:
        await self._connection.write_message(text)

    async def _received(self) -> str:
        return str(await self._connection.read_message())


@contextmanager
def browser(program: str, place: Path) -> Iterator[Browser]:
    """A page of 1280 × 2600 pixels: JupyterLab draws only the cells that are in sight."""
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    options += ["--remote-debugging-port=0", f"--user-data-dir={place}", "--window-size=1280,2600", "about:blank"]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    loop = asyncio.new_event_loop()
    try:
        port_file = place / "DevToolsActivePort"
        until(lambda: port_file.is_file() and port_file.read_text().split(), "Chromium", 60)
        port = port_file.read_text().split()[0]
        pages = json.loads(_get(f"http://127.0.0.1:{port}/json/list"))
        address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")

        async def connected() -> WebSocketClientConnection:
            return await websocket_connect(address, max_message_size=1 << 28)

        yield Browser(loop, loop.run_until_complete(connected()))
    finally:
        process.terminate()
        process.wait(30)
        loop.close()


@contextmanager
def jupyter_lab(place: Path, port: int) -> Iterator[str]:
    """The address of a JupyterLab over the notebooks of a directory."""
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True", f"--ServerApp.root_dir={place}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place)
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: process.poll() is not None or _get(f"{address}/api"), "JupyterLab", 120)
        assert process.poll() is None, "JupyterLab ended"
        yield address
    finally:
        process.terminate()
        process.wait(60)


def _get(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return str(response.read().decode("utf-8"))
    except (urllib.error.URLError, ConnectionError):
        return ""
