"""Settings of ``epochal.read.cdc``, the changes of a PostgreSQL table.

>>> from epochal import cdc
>>> cdc.Slot("orders", create=False)
cdc.Slot(name='orders', create=False)
"""

from epochal._values.cdc import Slot

__all__ = ["Slot"]


def __dir__() -> list[str]:
    return __all__
