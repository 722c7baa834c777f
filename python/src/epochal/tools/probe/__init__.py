"""Finds out how to read a REST API, with a few requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from epochal._arguments import suggesting
from epochal._values.auth import AnyAuth
from epochal._values.http import Http
from epochal._values.kind import NUMBER, whole
from epochal.errors import OptionError
from epochal.tools.probe.result import Finding, Probe

__all__ = ["Finding", "Probe", "probe"]

#: Default maximum number of requests.
REQUESTS = 20
#: Default seconds between two requests.
DELAY = 0.2


@suggesting
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
    """Finds out how to read a REST API: records, pagination, order and schema. It does not need Spark.

    It makes only GET requests, one after the other, obeys ``Retry-After`` and rate limits, and tests its findings by
    comparing records. The result lists what remains unknown.

    >>> found = rest.probe("https://api.example.com/v2/orders")  # doctest: +SKIP
    >>> print(found.call)  # doctest: +SKIP

    Args:
        url: address of a list of records, with or without query parameters.
        headers: request headers; secret.
        params: query parameters; those with names that suggest a secret are not printed.
        auth: the credentials of requests: ``rest.Bearer``, ``rest.Basic``, ``rest.ApiKey``, or a list of them.
        http: settings of the printed program; ``timeout`` (unset: 20 s), ``tls`` and ``proxy`` also apply to the probe.
        requests: maximum number of requests.
        delay: minimum seconds between two requests.

    Returns:
        The findings, with a program to paste.

    Raises:
        HttpError: the API cannot be reached, responds with an error, or responds with neither JSON nor CSV.
        RecordError: the response has no records.
        OptionError: an argument is invalid.
    """
    if not whole().fits(requests):
        raise _invalid("requests", "a whole number of at least 1", "requests=20")
    if delay != 0 and (not NUMBER.fits(delay) or delay > 60):
        raise _invalid("delay", "a number of seconds, from 0 to 60", "delay=0.2")

    from epochal.tools.probe.investigation import Investigation

    return Investigation(
        url, headers=headers, params=params, auth=auth, http=http, requests=requests, delay=delay
    ).run()


def _invalid(name: str, requirement: str, example: str) -> OptionError:
    problem = f"The argument '{name}' of epochal.rest.probe is not {requirement}."
    return OptionError("OPTION_INVALID", problem, f"Set it like this: {example}.")
