"""Settings of ``epochal.read.rest`` and ``epochal.write.rest``.

Every value is frozen, validated when it is created, and printed without secrets. ``None`` means "not set": the jar's
default applies.

- ``pages=``: ``NoPages``, ``Offset``, ``Page``, ``Cursor``, ``Keyset``, ``Link``, ``NextUrl``, ``GraphQL``,
  ``TimeWindow``
- ``each=``: ``Each``
- ``records=``: ``Json``, ``Ndjson``, ``Csv``
- ``auth=`` (of both): ``Bearer``, ``Basic``, ``Digest``, ``ApiKey``, ``OAuth2``, ``AwsSigV4``, ``Hmac``, ``Signer``
- ``poll=``: ``Poll``
- ``since=``: ``Since``
- ``mode=``, ``body=``, ``batch=``, ``results=``, ``dead_letters=`` of ``epochal.write.rest``: ``Append``, ``Changes``,
  ``Body``, ``Batch``, ``Results``, ``DeadLetters``

``probe`` finds out with a few requests which of them an API needs; it returns a ``Probe`` with a list of ``Finding``.

>>> from epochal import Secret, rest
>>> rest.Bearer(Secret("hunter2")), rest.Cursor(next="/paging/next", param="after")
(rest.Bearer(token=Secret('***')), rest.Cursor(next='/paging/next', param='after'))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from epochal._values.auth import ApiKey, AwsSigV4, Basic, Bearer, Digest, Hmac, OAuth2, Signer
from epochal._values.each import Each
from epochal._values.pages import Cursor, GraphQL, Keyset, Link, NextUrl, NoPages, Offset, Page, TimeWindow
from epochal._values.records import Csv, Json, Ndjson, Poll
from epochal._values.rows import Append, Batch, Body, Changes, DeadLetters, Results
from epochal._values.since import Since

if TYPE_CHECKING:
    from epochal.tools.probe import Finding, Probe, probe

__all__ = [
    "ApiKey",
    "Append",
    "AwsSigV4",
    "Basic",
    "Batch",
    "Bearer",
    "Body",
    "Changes",
    "Csv",
    "Cursor",
    "DeadLetters",
    "Digest",
    "Each",
    "Finding",
    "GraphQL",
    "Hmac",
    "Json",
    "Keyset",
    "Link",
    "Ndjson",
    "NextUrl",
    "NoPages",
    "OAuth2",
    "Offset",
    "Page",
    "Poll",
    "Probe",
    "Results",
    "Signer",
    "Since",
    "TimeWindow",
    "probe",
]

if not TYPE_CHECKING:  # for a type checker, the import above

    def __getattr__(name: str) -> Any:
        """Imports the probe on first use."""
        if name not in ("Finding", "Probe", "probe"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found = getattr(import_module("epochal.tools.probe"), name)
        return found


def __dir__() -> list[str]:
    return __all__
