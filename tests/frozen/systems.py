"""What the queries of a set read from: APIs behind a proxy, and clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frozen.scenario import API, Scenario
from support.api import Api
from support.http_writers import Client, await_listener
from support.writers import say


def behind_proxy(api: Api) -> str:
    """Gives the address of an API that is served to the proxy's clients, wherever that is: it is a part of offsets."""
    proxy, api.url = api.url.rsplit("/", 1)[0], API
    return proxy


def send(scenario: Scenario, port: int, texts: Sequence[str]) -> dict[str, Any]:
    """Sends lines, over HTTP in one request whose key is the first line, and says what the listener made of them."""
    await_listener(port)
    if scenario.name.endswith("tcp"):
        return {"records": int(say(("127.0.0.1", port), "".join(f"{text}\n" for text in texts))[-1].split()[1])}
    key = f"from-{texts[0].split()[1]}"
    status, found, _ = Client(port).send("\n".join(texts).encode(), path="/clicks", X_Event="push", Idempotency_Key=key)
    assert status == 200, found
    return dict(found)
