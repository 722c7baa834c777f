"""Settings of ``epochal.read.cdc``, the changes of a PostgreSQL table; a check of the server, and reloads.

>>> from epochal import cdc
>>> cdc.Slot("orders", create=False)
cdc.Slot(name='orders', create=False)
"""

from typing import TYPE_CHECKING

from epochal._lazy import attributes
from epochal._values.cdc import Slot

if TYPE_CHECKING:
    from epochal.tools.capture import Point, Preflight, Reload, check, reload

__all__ = ["Point", "Preflight", "Reload", "Slot", "check", "reload"]
__dir__ = __all__.copy

if not TYPE_CHECKING:
    __getattr__ = attributes(
        __name__, dict.fromkeys(("Point", "Preflight", "Reload", "check", "reload"), "tools.capture")
    )
