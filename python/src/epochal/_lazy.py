"""Public names that are imported on first use, so that ``import epochal`` stays fast. Type checkers see imports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attributes(module: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` for these names.

    Args:
        places: by name, the module below ``epochal`` that defines it, or that it is.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place = import_module(f"epochal.{places[name]}")
        value = getattr(place, name, place)
        setattr(sys.modules[module], name, value)
        return value

    return get
