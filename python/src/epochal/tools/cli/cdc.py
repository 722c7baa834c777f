"""The commands ``cdc check``, ``cdc reload`` and ``cdc verify``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from epochal._declarations import Form
from epochal._values.cdc import Slot
from epochal._values.kind import TEXT
from epochal._values.value import Option
from epochal.errors import EpochalError
from epochal.tools.capture import check, reload, verify
from epochal.tools.cli import info, shared

#: The arguments, by the options of the jar that have the same effect: errors name them.
_TABLE = {"--table": Option("dbtable", TEXT), **shared.LOGIN}
_CHECK = Form(
    "epochal-cdc",
    "epochal cdc check",
    plain={
        "--slot": Option("slot", TEXT),
        "--publication": Option("publication", TEXT),
        "--preimages": Option("preimages", TEXT),
        **_TABLE,
    },
)


def add(commands: Any) -> None:
    """Adds the command to the parser's own."""
    group = commands.add_parser("cdc", help="check a server whose changes are captured; reload or verify tables")
    inner = group.add_subparsers(dest="cdc_command", metavar="command", required=True)
    parser = shared.command(inner, "check", "list what capture needs of a server, with the SQL that fixes it", run)
    parser.set_defaults(form=_CHECK)
    _add_table(parser, "table to capture")
    parser.add_argument("--slot", help="replication slot of the query")
    parser.add_argument("--publication", help="publication with the table (default: the slot's name)")
    parser.add_argument("--preimages", action="store_true", help="updates are also to deliver the row before them")
    shared.login_arguments(parser)
    for name, request, text in (
        ("reload", reload, "ask running queries to load tables again"),
        ("verify", verify, "ask running queries to compare tables with their replicas"),
    ):
        parser = shared.command(inner, name, text, run_request)
        parser.set_defaults(form=Form("epochal-cdc", f"epochal cdc {name}", plain=_TABLE), request=request)
        _add_table(parser, f"table to {name}")
        shared.login_arguments(parser)


def _add_table(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("url", help="JDBC URL of the server")
    parser.add_argument("--table", required=True, help=f"{what}; several: public.orders,public.items")


def run_request(options: argparse.Namespace) -> int:
    """Writes the request; returns the exit code."""
    with _explaining():
        answer = options.request(options.url, table=options.table, user=options.user, password=shared.password(options))
    shared.show(options, answer, answer.to_dict())
    return shared.FINE


def run(options: argparse.Namespace) -> int:
    """Prints the points; returns the exit code: 0 if the server is ready."""
    with _explaining():
        preflight = check(
            options.url,
            table=options.table,
            user=options.user,
            password=shared.password(options),
            slot=Slot(options.slot, publication=options.publication),
            preimages=options.preimages or None,
        )
    shared.show(options, preflight, preflight.to_dict())
    return shared.FINE if preflight.is_ready else shared.FAILED


@contextmanager
def _explaining() -> Iterator[None]:
    """If a call fails with another error than ours, names what the installation lacks."""
    try:
        yield
    except EpochalError:
        raise
    except Exception:
        info.require()
        raise
