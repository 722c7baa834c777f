"""Settings of ``epochal.read.cdc``, the changes of a PostgreSQL table; a check of the server; requests to queries.

>>> from epochal import cdc
>>> cdc.Slot("orders", create=False)
cdc.Slot(name='orders', create=False)
"""

from typing import TYPE_CHECKING

from epochal._lazy import attributes
from epochal._values.cdc import Repair, Slot, Verify

if TYPE_CHECKING:
    from epochal.tools.capture import Point, Preflight, Request, check, reload, verify

__all__ = ["Point", "Preflight", "Repair", "Request", "Slot", "Verify", "check", "reload", "verify"]
__dir__ = __all__.copy

if not TYPE_CHECKING:
    __getattr__ = attributes(
        __name__, dict.fromkeys(("Point", "Preflight", "Request", "check", "reload", "verify"), "tools.capture")
    )
