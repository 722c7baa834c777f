"""Lists that differ in values of their requests: a value of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from dataclasses import fields as fields_of
from typing import Any, Literal, get_args

from epochal._values.auth import AnyAuth
from epochal._values.http import Http
from epochal._values.kind import FAMILY, FIELDS, ROWS, TEXT
from epochal._values.pages import AnyPages
from epochal._values.poll import AnyPoll
from epochal._values.records import AnyRecords
from epochal._values.secret import MASK
from epochal._values.value import Option, Setting, Value, of, option, settings_of, shown

OnGone = Literal["skip", "fail"]
Table = Sequence[Mapping[str, str | int | float | bool]] | str

#: Arguments of a parent's requests, with their options.
_REQUEST = {
    "headers": Option("headers", FAMILY, secret=True),
    "params": Option("params", FAMILY, secret=True),
    "request_body": Option("requestBody", TEXT, secret=True),
}


def _of_parent(*kinds: Any) -> Any:
    """A field whose options get the prefix of the parent."""
    return field(default=None, metadata={"part": (), "chooses": None, "own_doc": True, "of_parent": kinds})


class Each(Value):
    """One list for each record of another list, or for each row of a table: ``url`` has ``${owner}`` for a value.

    >>> Each("https://api.example.com/repos", owner="/owner/login", repo="/name")
    rest.Each(url='https://api.example.com/repos', fields={'owner': '/owner/login', 'repo': '/name'})
    >>> Each(table=[{"repo": "a"}, {"repo": "b"}], columns=["repo"])
    rest.Each(table=[{'repo': 'a'}, {'repo': 'b'}], columns=('repo',))

    Args:
        url: URL of a list whose records name the lists to read: url then has ``${name}`` for the values of ``fields``.
            Read whole at each poll, or, with ``poll=rest.Since(…)``, at the first poll of a run.
        table: instead of ``url``, one mapping for each list to read; or the same as JSON, or the path of a file of the
            driver with one of them in each line. Each list has its own position in the offsets. Not secret.
        fields: JSON Pointers by name: the values that a record gives to ``url``, ``params``, ``headers`` and
            ``request_body``. Each can also be an argument of its own, such as ``repo="/name"``.
        pages: the pagination of this list, as of ``epochal.read.rest``.
        records: format of its responses.
        auth: its credentials; unset, on the same server, those of the query.
        headers: its request headers, in addition to those of the query on the same server; secret.
        params: its query parameters; secret.
        request_body: body of its requests; secret.
        http: its timeouts, retries, TLS, proxy and rate limits; unset, on the same server, those of the query.
        poll: how it is polled; ``rest.Since`` requests only records that have changed since the last poll of a run, and
            lists of earlier records stay.
        each: the list whose records name the lists at ``url`` of this one.
        options: further options of this list, by the names that the jar gives them; secret.
    """

    url: str | None = field(default=None, kw_only=False, metadata=of("parent.url", own_doc=True))
    table: Table | None = option("partitionParams", ROWS, own_doc=True)
    columns: Sequence[str] | None = option("paramColumns")
    fields: Mapping[str, str] | None = option("parent.fields", FIELDS, own_doc=True)
    pages: AnyPages | None = _of_parent(*get_args(AnyPages))
    records: AnyRecords | None = _of_parent(*get_args(AnyRecords))
    auth: AnyAuth | Sequence[AnyAuth] | None = _of_parent(*get_args(AnyAuth), list, tuple)
    headers: Mapping[str, str] | None = _of_parent(Mapping)
    params: Mapping[str, str] | None = _of_parent(Mapping)
    request_body: str | None = _of_parent(str)
    http: Http | None = _of_parent(Http)
    poll: AnyPoll | None = _of_parent(*get_args(AnyPoll))
    each: Each | None = _of_parent(Value)
    on_gone: OnGone | None = option("onMemberGone")
    options: Mapping[str, str] | None = option("parent", own_doc=True)

    def __init__(self, url: str | None = None, *, fields: Mapping[str, str] | None = None, **more: Any) -> None:
        names = {one.name for one in fields_of(self)}
        pointers = {**(fields or {}), **{name: value for name, value in more.items() if name not in names}}
        values = {"url": url, "fields": pointers or None} | {name: more[name] for name in names & more.keys()}
        for name in names:
            object.__setattr__(self, name, values.get(name))
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.url is not None and self.fields is None:
            raise self._invalid("fields", "is not given", FIELDS.example)
        if self.url is None and self.table is None:
            raise self._invalid("url", "is not given, nor is table", '"https://api.example.com/repos"')
        alone = {"table", "columns"}
        others = [one.name for one in fields_of(self) if one.name not in alone and getattr(self, one.name) is not None]
        if self.table is not None and others:
            raise self._conflict(f"table, {', '.join(others)}", "Rows of a table are not requested: leave these out.")

    def _check_part(self, name: str, argument: Any, metadata: Mapping[str, Any]) -> None:
        kinds = metadata["of_parent"]
        if not isinstance(argument, kinds):
            values = [type(self) if kind is Value else kind for kind in kinds if issubclass(kind, Value)]
            names = " or ".join(map(shown, values)) or kinds[0].__name__
            raise self._invalid(name, f"is of type {type(argument).__name__}, which is not {names}", "…")

    def __repr__(self) -> str:
        text = super().__repr__()
        for name in _REQUEST:
            if secret := getattr(self, name):
                mask = dict.fromkeys(secret, MASK) if isinstance(secret, Mapping) else MASK
                text = text.replace(f"{name}={secret!r}", f"{name}={mask!r}")
        return text

    def _options(self) -> Iterator[Setting]:
        place = f"{shown(type(self))}(…)"
        for one in fields_of(self):
            declared, argument = one.metadata.get("option"), getattr(self, one.name)
            if argument is not None and one.name == "fields":
                pointers = ",".join(f"{name}={pointer}" for name, pointer in argument.items())
                yield Setting("parent.fields", pointers, place)
            elif argument is not None and declared:
                yield from settings_of(declared, argument, place)
        auth = self.auth if isinstance(self.auth, Sequence) else [self.auth]
        values = [self.pages, self.records, *auth, self.http, self.poll, self.each]
        settings = [setting for value in values if value is not None for setting in value._options()]
        for name, declared in _REQUEST.items():
            if (argument := getattr(self, name)) is not None:
                settings += settings_of(declared, argument, place)
        yield from (setting._replace(option=f"parent.{setting.option}", place=place) for setting in settings)
