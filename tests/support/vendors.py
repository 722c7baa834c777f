"""APIs of vendors, as strict as the real ones: pagination, errors, and rate limits."""

from __future__ import annotations

import base64
import json
from typing import Any

from support.api import Record, Request
from support.shapes import Page, RefusedError, Server, limited, moment


def position(records: list[Record], name: str, value: str, error: RefusedError) -> int:
    """The index of the record with a value.

    Raises:
        RefusedError: there is none.
    """
    found = next((n for n, record in enumerate(records) if str(record[name]) == value), None)
    if found is None:
        raise error
    return found


def stripe_error(code: str, message: str) -> Any:
    return {"error": {"code": code, "message": message, "type": "invalid_request_error"}}


@limited(stripe_error("rate_limit", "Request rate limit exceeded."), Stripe_Rate_Limited_Reason="global-rate")
def stripe(server: Server, request: Request) -> Page:
    """Objects, newest first, after or before one of them; customers are those of the charges."""
    given = request.params
    known = {"limit", "starting_after", "ending_before", "customer", "created[gte]", "created[lt]"}
    for name in given.keys() - known:
        raise RefusedError(400, stripe_error("parameter_unknown", f"Received unknown parameter: {name}"))
    if {"starting_after", "ending_before"} <= given.keys():
        raise RefusedError(
            400, stripe_error("parameter_invalid_empty", "Received both starting_after and ending_before")
        )
    every = server.records[::-1]
    if request.path.endswith("/customers"):
        every = [{"id": name, "object": "customer"} for name in dict.fromkeys(one["customer"] for one in every)]
    start, end = int(given.get("created[gte]", 0)), int(given.get("created[lt]", 2**40))
    listed = [one for one in every if start <= one.get("created", start) < end]
    listed = [one for one in listed if given.get("customer") in (None, one.get("customer"))]
    size, begin = int(given.get("limit", 10)), 0
    if (last := given.get("starting_after", given.get("ending_before"))) is not None:
        found = position(
            every, "id", last, RefusedError(400, stripe_error("resource_missing", f"No such object: {last}"))
        )
        newer = {one["id"] for one in every[:found]}
        begin = sum(one["id"] in newer for one in listed)
        if "ending_before" in given:
            page = listed[max(0, begin - size) : begin]
            return {"object": "list", "data": page, "has_more": begin > size}, {}
        begin += bool(begin < len(listed) and str(listed[begin]["id"]) == last)
    return {"object": "list", "data": listed[begin : begin + size], "has_more": begin + size < len(listed)}, {}


stripe_charges = stripe
HUBSPOT_LIMIT = {
    "status": "error",
    "message": "You have reached your secondly limit.",
    "errorType": "RATE_LIMIT",
    "policyName": "SECONDLY",
}
HUBSPOT_HEADERS = {
    "X-HubSpot-RateLimit-Daily": "250000",
    "X-HubSpot-RateLimit-Daily-Remaining": "249000",
    "X-HubSpot-RateLimit-Interval-Milliseconds": "10000",
    "X-HubSpot-RateLimit-Max": "100",
    "X-HubSpot-RateLimit-Remaining": "99",
}


def hubspot_error(message: str) -> RefusedError:
    return RefusedError(400, {"status": "error", "message": message, "category": "VALIDATION_ERROR"})


@limited(HUBSPOT_LIMIT)
def hubspot(server: Server, request: Request) -> Page:
    """Objects by id; the last page names no next one."""
    size, after = int(request.params.get("limit", 10)), request.params.get("after")
    if size > 100:
        raise hubspot_error("The limit must be at most 100")
    start = 0 if after is None else position(server.records, "id", after, hubspot_error(f"Invalid after: {after}"))
    body: dict[str, Any] = {"results": server.records[start : start + size]}
    if start + size < len(server.records):
        following = str(server.records[start + size]["id"])
        body["paging"] = {"next": {"after": following, "link": server.link(request, after=following)}}
    return body, HUBSPOT_HEADERS


@limited(HUBSPOT_LIMIT)
def hubspot_search(server: Server, request: Request) -> Page:
    """A search by POST for objects created in a period, whose pages are counted."""
    asked = json.loads(request.body)
    ((since, until),) = [group["filters"] for group in asked["filterGroups"]]
    assert (since["operator"], until["operator"]) == ("GTE", "LT")
    found = [
        one for one in server.records if int(since["value"]) <= moment(one["createdAt"]) * 1000 < int(until["value"])
    ]
    after = asked.get("after", "0")
    if not (isinstance(after, str) and after.isdigit() and int(after) < 10_000):
        raise hubspot_error(f"Invalid after: {after}")
    start, size = int(after), asked["limit"]
    body: dict[str, Any] = {"total": len(found), "results": found[start : start + size]}
    if start + size < len(found):
        body["paging"] = {"next": {"after": str(start + size)}}
    return body, {}


def jira_error(message: str, status: int = 400) -> RefusedError:
    return RefusedError(status, {"errorMessages": [message], "errors": {}})


@limited(
    {"errorMessages": ["Rate limit exceeded."], "errors": {}},
    Retry_After="1",
    X_RateLimit_Limit="350",
    X_RateLimit_Remaining="0",
    X_RateLimit_Reset="2026-01-01T00:00Z",
    RateLimit_Reason="jira-burst-based",
)
def jira(server: Server, request: Request) -> Page:
    """Cloud: a token for the next page, and a flag, but no total; without fields there are only ids."""
    if not request.path.endswith("/search/jql"):
        raise jira_error("The requested API has been removed.", 410)
    if "jql" not in request.params:
        raise jira_error("Unbounded JQL queries are not allowed here. Please add a search restriction to your query.")
    start = int(base64.b64decode(request.params.get("nextPageToken", "MA==")))
    records, following = server.part(start, int(request.params.get("maxResults", 50)))
    body: dict[str, Any] = {"issues": records, "isLast": following is None}
    if following is not None:
        body["nextPageToken"] = base64.b64encode(str(following).encode()).decode()
    return body, {}


@limited({"message": "Rate limit exceeded."}, Retry_After="1", X_RateLimit_Limit="100", X_RateLimit_Remaining="0")
def jira_data_center(server: Server, request: Request) -> Page:
    """Data Center: counted pages and their total."""
    start, size = int(request.params.get("startAt", 0)), min(int(request.params.get("maxResults", 50)), 1000)
    issues = server.records[start : start + size]
    headers = {"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "99", "X-RateLimit-FillRate": "10"}
    body = {"expand": "schema,names", "startAt": start, "maxResults": size, "total": len(server.records)}
    return {**body, "issues": issues}, {**headers, "X-RateLimit-Interval-Seconds": "1"}


@limited({"errors": "Exceeded 2 calls per second for api client."}, Retry_After="1.0")
def shopify(server: Server, request: Request) -> Page:
    """An opaque ``page_info`` in a ``Link`` header, which excludes other parameters; or the ids after one of them."""
    given = request.params
    if "page_info" in given and (others := given.keys() - {"page_info", "limit", "fields"}):
        wrong = {name: f"{name} cannot be passed when page_info is present." for name in others}
        raise RefusedError(400, {"errors": wrong})
    size, start = int(given.get("limit", 50)), 0
    if "page_info" in given:
        start = int(base64.b64decode(given["page_info"]))
    elif "since_id" in given:
        start = sum(one["id"] <= int(given["since_id"]) for one in server.records)
    records, following = server.part(start, size)
    base = f"{server.url.rsplit('/', 1)[0]}{request.path}?limit={size}&page_info="
    places = {"previous": max(0, start - size) if start else None, "next": following}
    links = [
        f'<{base}{base64.b64encode(str(place).encode()).decode()}>; rel="{rel}"'
        for rel, place in places.items()
        if place is not None
    ]
    return {"orders": records}, {
        "X-Shopify-Shop-Api-Call-Limit": "1/40",
        **({"Link": ", ".join(links)} if links else {}),
    }


@limited({"error": "APIRateLimitExceeded", "description": "Number of allowed API requests exceeded"}, Retry_After="1")
def zendesk(server: Server, request: Request) -> Page:
    """The tickets that changed after a cursor, each as it is after its last change; ``records`` are the changes."""
    given = request.params
    if len(given.keys() & {"start_time", "cursor"}) != 1:
        raise RefusedError(400, {"error": "InvalidValue", "description": "Give either start_time or cursor"})
    start = int(base64.b64decode(given.get("cursor", "MA==")))
    last = {one["id"]: n for n, one in enumerate(server.records)}
    changes = [n for n in sorted(last.values()) if n >= start]
    page, end = changes[:10], len(changes) <= 10
    cursor = base64.b64encode(str(page[-1] + 1 if page else start).encode()).decode()
    url = f"{server.url.rsplit('/', 1)[0]}{request.path}?cursor={cursor}"
    body = {"after_url": url, "after_cursor": cursor, "before_url": None, "before_cursor": None, "end_of_stream": end}
    return {"tickets": [server.records[n] for n in page], **body}, {"X-Rate-Limit": "10"}


def google_error(code: int, reason: str, message: str) -> Any:
    errors = [{"domain": "global", "reason": reason, "message": message}]
    return {"error": {"code": code, "message": message, "errors": errors}}


@limited(google_error(429, "rateLimitExceeded", "The object exceeded the rate limit"))
def gcs(server: Server, request: Request) -> Page:
    """Objects in the order of their names, below a prefix; an empty list is left out."""
    size, prefix = int(request.params.get("maxResults", 1000)), request.params.get("prefix", "")
    try:
        last = base64.b64decode(request.params.get("pageToken", ""), validate=True).decode()
    except ValueError:
        raise RefusedError(400, google_error(400, "invalid", "Invalid Value")) from None
    named = sorted((one for one in server.records if one["name"].startswith(prefix)), key=lambda one: str(one["name"]))
    named = [one for one in named if one["name"] > last]
    body: dict[str, Any] = {"kind": "storage#objects"}
    if len(named) > size:
        body["nextPageToken"] = base64.b64encode(named[size - 1]["name"].encode()).decode()
    if request.params.get("delimiter"):
        body["prefixes"] = [f"{prefix}archive/"]
    return (body | {"items": named[:size]} if named else body), {}
