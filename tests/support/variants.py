"""Sizes of the suite: `make test` runs a few variants of a test, `make test-all` all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def variants(all: Iterable[Any], few: Collection[Any]) -> list[Any]:
    """Parameters of a test; those that are not among ``few`` are tagged slow."""
    return [one if one in few else pytest.param(one, marks=pytest.mark.slow) for one in all]
