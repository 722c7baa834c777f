"""Arguments, output and confirmations that several commands share."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from epochal._values.secret import Secret
from epochal.errors import EpochalError
from epochal.tools.checkpoint.repair import refused
from epochal.tools.ledger import Change, DatabaseLedger, change, ledger
from epochal.tools.ledger import sqlite as _sqlite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Exit codes: success; an error or a refused repair; a state that needs a repair. 2 is an invalid command line.
FINE, FAILED, ATTENTION = 0, 1, 3

#: Settings for a short-lived session: no UI, and a JVM tuned for a fast start.
_QUICK: dict[str, Any] = {
    "spark.ui.enabled": False,
    "spark.ui.showConsoleProgress": False,
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

Command = Callable[[argparse.Namespace], int]


def command(commands: Any, name: str, help: str, run: Command) -> argparse.ArgumentParser:
    """Adds a command with the option for JSON output."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def database_arguments(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Arguments for the database of the ledger. There is none for the password: other users can see arguments."""
    parser.add_argument("--url", required=required, help="JDBC URL of the sink's database")
    parser.add_argument("--schema", help="schema of the table that the sink writes")
    parser.add_argument("--user", default=os.environ.get("PGUSER"), help="database user (default: PGUSER)")
    password = parser.add_mutually_exclusive_group()
    password.add_argument("--password-env", metavar="NAME", help="variable with the password (default: PGPASSWORD)")
    password.add_argument("--password-file", metavar="PATH", help="file with the password")


def repair_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    parser.add_argument("--stopped", action="store_true", help="the query is stopped, although it wrote a moment ago")


def run(options: argparse.Namespace) -> int:
    """Runs a command; converts an error to a message and an exit code."""
    try:
        code: int = options.run(options)
        return code
    except EpochalError as error:
        if getattr(options, "json", False):
            print_json(as_values(error))
        print(f"{error.condition}: {error.problem}", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
        return FAILED


def as_values(error: EpochalError) -> dict[str, Any]:
    """An error as JSON types."""
    return {"error": {"condition": error.condition, "problem": error.problem, "hint": error.hint}}


def show(options: argparse.Namespace, text: object, values: Any) -> None:
    """Prints text or JSON."""
    if options.json:
        print_json(values)
    else:
        print(text)


def print_json(values: Any) -> None:
    print(json.dumps(values, indent=2, ensure_ascii=False))


def confirm(options: argparse.Namespace, steps: Sequence[str], warnings: Sequence[str] = ()) -> None:
    """Prints the steps and asks for confirmation.

    Raises:
        RepairError: the repair was not confirmed.
    """
    out = sys.stderr if options.json else sys.stdout
    for step in steps:
        print(f"will {step}" if not step.startswith("after") else step, file=out)
    for warning in warnings:
        print(f"note: {warning}", file=out)
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise refused("It was not confirmed", "Add --yes to do it.")
    print("Do it? [y/N] ", end="", file=out, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise refused("It was not confirmed", "Answer with y to do it.")


def read_ledger(options: argparse.Namespace) -> DatabaseLedger:
    """Reads the ledger that the arguments name."""
    return ledger(options.url, **_login(options))


def change_ledger(options: argparse.Namespace, wanted: Change) -> None:
    arguments: dict[str, Any] = _login(options) or {"spark": session()}
    change(options.url, wanted, **arguments)


def _login(options: argparse.Namespace) -> dict[str, Any]:
    if options.url.startswith(_sqlite.PREFIX):
        return {}
    variable = options.password_env or ("PGPASSWORD" if "PGPASSWORD" in os.environ else None)
    password: Secret | None = None
    if options.password_file:
        password = Secret.file(options.password_file)
    elif variable:
        password = Secret.env(variable)
    return {"schema": options.schema, "user": options.user, "password": password, "spark": session()}


def session() -> SparkSession:
    """A small local session."""
    from pyspark.sql import SparkSession

    from epochal._session import configure

    return configure(SparkSession.builder.master("local[1]").appName("epochal").config(map=_QUICK)).getOrCreate()
