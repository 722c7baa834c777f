"""Settings of ``epochal.write.jdbc`` and ``epochal.read.jdbc``.

Every value is frozen, validated when it is created, and printed without secrets. ``None`` means "not set": the jar's
default applies.

>>> from epochal import jdbc
>>> jdbc.Upsert(key_columns=["id"], order_column="updatedAt")
jdbc.Upsert(key_columns=('id',), order_column='updatedAt')
"""

from epochal._values.table import (
    Append,
    Changes,
    Columns,
    Connection,
    DeadLetters,
    Ledger,
    Partitions,
    Transport,
    Upsert,
)

__all__ = ["Append", "Changes", "Columns", "Connection", "DeadLetters", "Ledger", "Partitions", "Transport", "Upsert"]
__dir__ = __all__.copy
