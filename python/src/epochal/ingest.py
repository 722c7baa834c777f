"""Settings of ``epochal.read.ingest``, the source of records that clients send.

Every value is frozen, validated when it is created, and printed without secrets. ``None`` means "not set": the jar's
default applies.

======================  ==============================
``protocol=``           ``Tcp``, ``HttpServer``
``records=``            ``Text``, ``Json``, ``Csv``
``journal=``            ``Journal``
``HttpServer(auth=)``   ``Bearer``, ``Basic``, ``Signature``
``HttpServer(tls=)``    ``Tls``
======================  ==============================

``address`` returns the host and port on which a running query listens.

>>> from epochal import ingest
>>> ingest.Tcp(0, ack=True)
ingest.Tcp(port=0, ack=True)
"""

from epochal._ingest import address
from epochal._values.ingest import Csv, Journal, Json, Tcp, Text
from epochal._values.ingest_http import Basic, Bearer, HttpServer, Signature, Tls

__all__ = ["Basic", "Bearer", "Csv", "HttpServer", "Journal", "Json", "Signature", "Tcp", "Text", "Tls", "address"]


def __dir__() -> list[str]:
    return __all__
