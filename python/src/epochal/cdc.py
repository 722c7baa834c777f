"""Settings of ``epochal.read.cdc``, the changes of a PostgreSQL table, and a check of the server.

>>> from epochal import cdc
>>> cdc.Slot("orders", create=False)
cdc.Slot(name='orders', create=False)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from epochal._values.cdc import Slot

if TYPE_CHECKING:
    from epochal.tools.capture import Point, Preflight, check

__all__ = ["Point", "Preflight", "Slot", "check"]

if not TYPE_CHECKING:  # for a type checker, the import above

    def __getattr__(name: str) -> Any:
        """Imports the check on first use."""
        if name not in ("Point", "Preflight", "check"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(import_module("epochal.tools.capture"), name)
        return found


def __dir__() -> list[str]:
    return __all__
