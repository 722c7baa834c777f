"""The command ``replicate``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, get_args

from epochal import _replicate
from epochal._declarations import Form
from epochal._values.cdc import OnSchemaChange, Slot, Snapshot, Verify
from epochal._values.kind import TEXT
from epochal._values.secret import Secret
from epochal._values.value import Option
from epochal.errors import OptionError
from epochal.tools.cli import shared
from epochal.tools.watch.watching import watch

#: The arguments, by the options of the jar that have the same effect: errors name them.
_ARGUMENTS = Form(
    "epochal-cdc",
    "epochal replicate",
    plain={
        "--slot": Option("slot", TEXT),
        "--snapshot": Option("snapshot", TEXT),
        "--on-schema-change": Option("onSchemaChange", TEXT),
        "--accept-change": Option("acceptChange", TEXT),
        "--verify-every": Option("verifyInterval", TEXT),
        **shared.LOGIN,
    },
)


def add(commands: Any) -> None:
    """Adds the command to the parser's own."""
    parser = shared.command(
        commands, "replicate", "keep replicas of a PostgreSQL database's tables in another database", run, json=False
    )
    parser.set_defaults(form=_ARGUMENTS)
    parser.add_argument("source", help="JDBC URL of the PostgreSQL server")
    parser.add_argument("target", help="JDBC URL of the database with the replicas, or the path of an SQLite file")
    parser.add_argument("--tables", required=True, help="tables: public.orders,public.items, or public.*")
    parser.add_argument("--into", default="{table}", help="names of the replicas (default: {table})")
    parser.add_argument("--slot", help="replication slot (default: one named after the tables and the checkpoint)")
    parser.add_argument(
        "--snapshot", choices=get_args(Snapshot), help="how tables are loaded at first (default: whole)"
    )
    parser.add_argument("--checkpoint", help="directory of the query's state (default, for a file: TARGET.checkpoint)")
    parser.add_argument("--verify-every", metavar="TIME", help="time between comparisons of a table with its replica")
    parser.add_argument(
        "--on-schema-change",
        choices=get_args(OnSchemaChange),
        default="follow",
        help="what to do after columns have changed (default: follow)",
    )
    parser.add_argument("--accept-change", metavar="TOKEN", help="accept a change: the value in the hint of its error")
    parser.add_argument("--once", action="store_true", help="end when everything committed before the start is stored")
    shared.login_arguments(parser)
    parser.add_argument("--target-user", help="user of the target")
    parser.add_argument("--target-password-env", metavar="NAME", help="variable with the target's password")


def run(options: argparse.Namespace) -> int:
    """Starts the query and shows its progress until it ends."""
    is_url = options.target.startswith("jdbc:")
    if is_url and not options.checkpoint:
        raise OptionError(
            "OPTION_REQUIRED",
            "epochal replicate needs --checkpoint, the directory of the query's state.",
            "Add it, for example --checkpoint checkpoints/shop.",
        )
    if options.target_password_env and options.target_password_env not in os.environ:
        raise OptionError(
            "OPTION_INVALID",
            f"The variable {options.target_password_env} of --target-password-env is not set.",
            f"Set it: export {options.target_password_env}=….",
        )
    file = Path(options.target).absolute()
    query = _replicate.replicate(
        shared.session(cores="*"),
        options.source,
        options.target if is_url else f"jdbc:sqlite:{file}",
        tables=options.tables,
        into=options.into,
        user=options.user,
        password=shared.password(options),
        target_user=options.target_user,
        target_password=Secret.env(options.target_password_env) if options.target_password_env else None,
        slot=Slot(options.slot, snapshot=options.snapshot, accept_change=options.accept_change),
        on_schema_change=options.on_schema_change,
        verify=Verify(every=options.verify_every),
        checkpoint=options.checkpoint or file.with_name(f"{file.name}.checkpoint"),
        trigger="availableNow" if options.once else None,
    )
    watch(query)
    return shared.FINE
