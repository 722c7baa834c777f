"""Finds out how a REST API is read, by a few requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from epochal._values.auth import AnyAuth
from epochal._values.http import Http
from epochal._values.kind import NUMBER, whole
from epochal.errors import OptionError
from epochal.tools.probe.result import Finding, Probe

__all__ = ["Finding", "Probe", "probe"]

#: Requests that a probe may make, by default.
REQUESTS = 20
#: Seconds between two of them.
DELAY = 0.2


def probe(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
    auth: AnyAuth | Sequence[AnyAuth] | None = None,
    http: Http | None = None,
    requests: int = REQUESTS,
    delay: float = DELAY,
) -> Probe:
    """Finds out how a REST API is read: records, pages, order and schema. It needs no Spark.

    It makes GET requests only, one after the other, obeys ``Retry-After`` and rate limits, and tests what it finds by
    comparing records. What it could not find out it says.

    >>> found = rest.probe("https://api.example.com/v2/orders")  # doctest: +SKIP
    >>> print(found.call)  # doctest: +SKIP

    Args:
        url: the address of a list of records, with a query or without.
        headers: request headers; secret.
        params: query parameters; those whose names suggest a secret are not printed.
        auth: who asks: ``rest.Bearer``, ``rest.Basic``, ``rest.ApiKey``, or a list of them.
        http: its ``timeout`` (unset: 20 s), ``tls`` and ``proxy`` hold for the probe, too.
        requests: maximum requests.
        delay: seconds between two requests, at least.

    Returns:
        What was found out, with a program to paste.

    Raises:
        HttpError: the API cannot be reached, responds with an error, or with something that is neither JSON nor CSV.
        RecordError: the response has no records.
        OptionError: an argument cannot be used.
    """
    if not whole().fits(requests):
        raise _invalid("requests", "a whole number of at least 1", "requests=20")
    if delay != 0 and (not NUMBER.fits(delay) or delay > 60):
        raise _invalid("delay", "a number of seconds, from 0 to 60", "delay=0.2")

    from epochal.tools.probe.investigation import Investigation

    return Investigation(
        url, headers=headers, params=params, auth=auth, http=http, requests=requests, delay=delay
    ).run()


def _invalid(name: str, expected: str, example: str) -> OptionError:
    problem = f"The argument '{name}' of epochal.rest.probe is not {expected}."
    return OptionError("OPTION_INVALID", problem, f"Set it like this: {example}.")
