"""Settings of ``epochal.read.ingest``, the source of records that clients send.

Every value is frozen, validated when it is created, and printed without secrets. ``None`` means "not set": the jar's
default applies.

``address`` returns the host and port on which a running query listens.

>>> from epochal import ingest
>>> ingest.Tcp(0, ack=True)
ingest.Tcp(port=0, ack=True)
"""

from typing import TYPE_CHECKING

from epochal._lazy import attributes
from epochal._values.ingest import Basic, Bearer, Csv, HttpServer, Journal, Json, Signature, Tcp, Text, Tls

if TYPE_CHECKING:
    from epochal.tools.listener import address

__all__ = ["Basic", "Bearer", "Csv", "HttpServer", "Journal", "Json", "Signature", "Tcp", "Text", "Tls", "address"]
__dir__ = __all__.copy

if not TYPE_CHECKING:
    __getattr__ = attributes(__name__, {"address": "tools.listener"})
