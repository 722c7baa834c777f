"""A list whose records name the lists to read: a value of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from dataclasses import fields as fields_of
from typing import Any, Literal, get_args

from epochal._values.auth import AnyAuth
from epochal._values.http import Http
from epochal._values.kind import FAMILY, FIELDS, TEXT, Kind, one_of
from epochal._values.pages import AnyPages
from epochal._values.records import AnyRecords, Poll
from epochal._values.secret import MASK
from epochal._values.since import Since
from epochal._values.value import Option, Setting, Value, of, option, settings_of, shown

OnGone = Literal["skip", "fail"]


def _inner(*kinds: Any) -> Any:
    """A field whose options get the prefix of the parent."""
    return field(default=None, metadata={"part": (), "chooses": None, "own_doc": True, "inner": kinds})


class Each(Value):
    """One list for each record of another list: ``url`` then has ``${owner}`` where a value of the record stands.

    >>> Each("https://api.example.com/repos", owner="/owner/login", repo="/name")
    rest.Each(url='https://api.example.com/repos', fields={'owner': '/owner/login', 'repo': '/name'})

    Args:
        url: URL of a list whose records name the lists to read: url then has ``${name}`` for the values of ``fields``.
            Read whole at each poll, or, with ``since``, at the first poll of a run.
        fields: JSON Pointers by name: the values that a record gives to ``url``, ``params``, ``headers`` and
            ``request_body``. Each can also be an argument of its own, such as ``repo="/name"``.
        pages: the pagination of this list, as of ``epochal.read.rest``.
        records: format of its responses.
        auth: its credentials; unset, on the same server, those of the query.
        headers: its request headers, in addition to those of the query on the same server; secret.
        params: its query parameters; secret.
        request_body: body of its requests; secret.
        http: its timeouts, retries, TLS, proxy and rate limits; unset, on the same server, those of the query.
        poll: how it is polled.
        since: requests only records that have changed since the last poll of a run; lists found before stay.
        each: the list whose records name the lists at ``url`` of this one.
        on_gone: whether a list that the API answers with 404 or 410 is skipped and counted (skip), or fails the query
            (fail); if no such list has ever answered, it fails. Default: ``"skip"``.
        options: further options of this list, by the names that the jar gives them; secret.
    """

    url: str = field(kw_only=False, metadata=of("parent.url", TEXT, own_doc=True))
    fields: Mapping[str, str] = field(metadata=of("parent.fields", FIELDS, own_doc=True))
    pages: AnyPages | None = _inner(*get_args(AnyPages))
    records: AnyRecords | None = _inner(*get_args(AnyRecords))
    auth: AnyAuth | Sequence[AnyAuth] | None = _inner(*get_args(AnyAuth), list, tuple)
    headers: Mapping[str, str] | None = _inner(Mapping)
    params: Mapping[str, str] | None = _inner(Mapping)
    request_body: str | None = _inner(str)
    http: Http | None = _inner(Http)
    poll: Poll | None = _inner(Poll)
    since: Since | None = _inner(Since)
    each: Each | None = _inner(Value)
    on_gone: OnGone | None = option("onMemberGone", one_of(OnGone), own_doc=True)
    options: Mapping[str, str] | None = option("parent", FAMILY, own_doc=True)

    def __init__(self, url: str, *, fields: Mapping[str, str] | None = None, **more: Any) -> None:
        known = {one.name: one for one in fields_of(self)}
        given = {"url": url, "fields": {**(fields or {}), **{n: v for n, v in more.items() if n not in known}}}
        given |= {name: value for name, value in more.items() if name in known}
        for name, one in known.items():
            object.__setattr__(self, name, given.get(name, one.default))
        self.__post_init__()

    def __post_init__(self) -> None:
        for one in fields_of(self):
            name, given = one.name, getattr(self, one.name)
            if given is None and one.default is None:
                continue
            if declared := one.metadata.get("option"):
                self._check(name, given, declared)
                self._keep(name, given, declared.kind)
            elif not isinstance(given, one.metadata["inner"]):
                kinds = [kind for kind in one.metadata["inner"] if isinstance(kind, type) and issubclass(kind, Value)]
                names = " or ".join(shown(kind) for kind in kinds if kind is not Value) or one.type
                raise self._invalid(name, f"is of type {type(given).__name__}, which is not {names}", "…")

    def __repr__(self) -> str:
        said = super().__repr__()
        for name in ("headers", "params"):
            if hidden := getattr(self, name):
                said = said.replace(f"{name}={hidden!r}", f"{name}={dict.fromkeys(hidden, MASK)!r}")
        return said.replace(f"request_body={self.request_body!r}", f"request_body={MASK!r}")

    def _options(self) -> Iterator[Setting]:
        place = f"{shown(type(self))}(…)"
        yield Setting("parent.url", self.url, place)
        yield Setting("parent.fields", ",".join(f"{name}={pointer}" for name, pointer in self.fields.items()), place)
        if self.on_gone is not None:
            yield Setting("onMemberGone", self.on_gone, place)
        for one in self._inner_options():
            yield one._replace(option=f"parent.{one.option}", place=place)

    def _inner_options(self) -> Iterator[Setting]:
        auth = self.auth if isinstance(self.auth, Sequence) else [self.auth]
        for value in (self.pages, self.records, *auth, self.http, self.poll, self.since, self.each):
            if value is not None:
                yield from value._options()
        plain: tuple[tuple[str, Kind, Any], ...] = (
            ("headers", FAMILY, self.headers),
            ("params", FAMILY, self.params),
            ("requestBody", TEXT, self.request_body),
        )
        for name, kind, given in plain:
            if given is not None:
                yield from settings_of(Option(name, kind, secret=True), given, "")
        for name, text in (self.options or {}).items():
            yield Setting(name, text, "", secret=True)
