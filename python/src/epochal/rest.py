"""Settings of ``epochal.read.rest`` and ``epochal.write.rest``.

Every value is frozen, validated when it is created, and printed without secrets. ``None`` means "not set": the jar's
default applies.

``probe`` finds out with a few requests which of them an API needs; it returns a ``Probe`` with a list of ``Finding``.

>>> from epochal import Secret, rest
>>> rest.Bearer(Secret("hunter2")), rest.Cursor(next="/paging/next", param="after")
(rest.Bearer(token=Secret('***')), rest.Cursor(next='/paging/next', param='after'))
"""

from typing import TYPE_CHECKING

from epochal._lazy import attributes
from epochal._values.auth import ApiKey, AwsSigV4, Basic, Bearer, Digest, Hmac, OAuth2, Signer
from epochal._values.each import Each
from epochal._values.pages import Cursor, GraphQL, Keyset, Link, NextUrl, NoPages, Offset, Page, TimeWindow
from epochal._values.poll import Poll, Since
from epochal._values.records import Csv, Json, Ndjson
from epochal._values.rows import Append, Batch, Body, Changes, DeadLetters, Results

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
__dir__ = __all__.copy

if not TYPE_CHECKING:
    __getattr__ = attributes(__name__, dict.fromkeys(("Finding", "Probe", "probe"), "tools.probe"))
