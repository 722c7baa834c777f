"""The command ``cdc check``."""

from __future__ import annotations

import argparse
from typing import Any

from epochal._declarations import Form
from epochal._values.cdc import Slot
from epochal._values.kind import TEXT
from epochal._values.value import Option
from epochal.errors import EpochalError
from epochal.tools.capture import check
from epochal.tools.cli import info, shared

#: The arguments, by the options of the jar that have the same effect: errors name them.
_ARGUMENTS = Form(
    "epochal-cdc",
    "epochal cdc check",
    plain={
        "--table": Option("dbtable", TEXT),
        "--slot": Option("slot", TEXT),
        "--publication": Option("publication", TEXT),
        "--preimages": Option("preimages", TEXT),
        **shared.LOGIN,
    },
)


def add(commands: Any) -> None:
    """Adds the command to the parser's own."""
    group = commands.add_parser("cdc", help="check a server whose changes are to be captured")
    inner = group.add_subparsers(dest="cdc_command", metavar="command", required=True)
    parser = shared.command(inner, "check", "list what capture needs of a server, with the SQL that fixes it", run)
    parser.set_defaults(form=_ARGUMENTS)
    parser.add_argument("url", help="JDBC URL of the server")
    parser.add_argument("--table", required=True, help="table to capture; several: public.orders,public.items")
    parser.add_argument("--slot", help="replication slot of the query")
    parser.add_argument("--publication", help="publication with the table (default: the slot's name)")
    parser.add_argument("--preimages", action="store_true", help="updates are also to deliver the row before them")
    shared.login_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Prints the points; returns the exit code: 0 if the server is ready."""
    try:
        preflight = check(
            options.url,
            table=options.table,
            user=options.user,
            password=shared.password(options),
            slot=Slot(options.slot, publication=options.publication),
            preimages=options.preimages or None,
        )
    except EpochalError:
        raise
    except Exception:
        info.require()
        raise
    shared.show(options, preflight, preflight.to_dict())
    return shared.FINE if preflight.is_ready else shared.FAILED
