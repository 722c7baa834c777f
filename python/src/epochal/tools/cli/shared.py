"""Arguments, output and confirmations that several commands share."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from epochal import _calls
from epochal._declarations import Form
from epochal._values.kind import TEXT
from epochal._values.secret import Secret
from epochal._values.value import Option
from epochal.errors import EpochalError, OptionError
from epochal.tools.checkpoint import Checkpoint, checkpoint
from epochal.tools.checkpoint.files import local_path
from epochal.tools.checkpoint.repair import refused
from epochal.tools.cli import info
from epochal.tools.ledger import Change, DatabaseLedger, change, ledger, needs_session
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

#: The arguments of ``login_arguments``, by the options of the jar that have the same effect: errors name them.
LOGIN = {
    "--user": Option("user", TEXT),
    "PGPASSWORD": Option("password", TEXT),
    "--password-env": Option("passwordEnv", TEXT),
    "--password-file": Option("passwordFile", TEXT),
}
#: The same of commands that set no ``form`` of their own.
_ARGUMENTS = Form(
    "epochal-jdbc", "epochal", plain={"--url": Option("url", TEXT), "--schema": Option("dbtable", TEXT), **LOGIN}
)

_AGAIN = "Correct the cause, and run the command again."

Command = Callable[[argparse.Namespace], int]


class UsageError(SystemExit):
    """An invalid command line: the exit code is 2."""

    def __init__(self, error: EpochalError) -> None:
        super().__init__(2)
        self.error = error


class Parser(argparse.ArgumentParser):
    """A parser whose errors are Epochal's. An unknown argument is reported without its value, which may be a secret."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parses all arguments.

        Raises:
            UsageError: they are invalid.
        """
        options, rest = self.parse_known_args(args, namespace)
        if not rest:
            return options
        parser: Parser = options.parser
        first = next((name for name in rest if name.startswith("-")), None)
        if first is None:
            parser.error(f"unexpected argument: {rest[0]}")
        name = first.partition("=")[0]
        actions = parser._option_string_actions
        close = [one for one in actions if one.startswith(name)] or difflib.get_close_matches(name, actions, 1)
        hint = f"Did you mean {' or '.join(close)}?" if close else parser._hint()
        if "--password".startswith(name) and "--password-env" in actions:
            hint = "Other users can see arguments: set PGPASSWORD, or use --password-env or --password-file."
        raise UsageError(OptionError("OPTION_UNKNOWN", f"{parser.prog} has no argument {name}.", hint))

    def error(self, message: str) -> NoReturn:
        """Reports an error that argparse has found."""
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            raise UsageError(OptionError("OPTION_REQUIRED", f"{self.prog} needs {missing}.", self._hint()))
        raise UsageError(OptionError("OPTION_INVALID", f"{self.prog}: {message}.", self._hint()))

    def _hint(self) -> str:
        return f"See the arguments: {self.prog} --help."


def command(commands: Any, name: str, help: str, run: Command, *, json: bool = True) -> Parser:
    """Adds a command, by default with the option for JSON output."""
    parser: Parser = commands.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run, parser=parser)
    return parser


def database_arguments(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Arguments for the database of the ledger."""
    parser.add_argument("--url", required=required, help="JDBC URL of the sink's database")
    parser.add_argument("--schema", help="schema of the table that the sink writes")
    login_arguments(parser)


def login_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments for a login. There is none for the password: other users can see arguments."""
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
        with _calls.calling([_calls.Call(getattr(options, "form", _ARGUMENTS), ())]):
            code: int = options.run(options)
        return code
    except EpochalError as error:
        failure = error
    except OSError as error:
        if not error.filename:
            raise
        problem = f"{error.filename} cannot be used: {error.strerror}."
        failure = EpochalError("FILE_ERROR", problem, _AGAIN)
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        # Py4J names the call, then the exception of the JVM.
        lines = [line.lstrip(": ") for line in str(error).splitlines() if not line.startswith("An error occurred")]
        failure = EpochalError("SPARK_FAILED", next(filter(None, lines), type(error).__name__), _AGAIN)
    return report(failure, as_json=getattr(options, "json", False))


def report(error: EpochalError, *, as_json: bool) -> int:
    """Prints an error; returns the exit code."""
    if as_json:
        print_json({"error": {"condition": error.condition, "problem": error.problem, "hint": error.hint}})
    print(f"{error.condition}: {error.problem}", file=sys.stderr)
    if error.hint:
        print(error.hint, file=sys.stderr)
    return FAILED


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


def read_checkpoint(options: argparse.Namespace) -> Checkpoint:
    """Reads the checkpoint that the arguments name; through Spark if the path is not local."""
    local = local_path(options.checkpoint)
    return checkpoint(options.checkpoint, spark=session() if local is None else None)


def read_ledger(options: argparse.Namespace) -> DatabaseLedger:
    """Reads the ledger that the arguments name."""
    return ledger(options.url, **_login(options), spark=session() if needs_session(options.url) else None)


def change_ledger(options: argparse.Namespace, edit: Change) -> None:
    change(options.url, edit, **_login(options), spark=session())


def _login(options: argparse.Namespace) -> dict[str, Any]:
    if options.url.startswith(_sqlite.PREFIX):
        return {}
    return {"schema": options.schema, "user": options.user, "password": password(options)}


def password(options: argparse.Namespace) -> Secret | None:
    """The place of the password."""
    if options.password_file:
        return Secret.file(options.password_file)
    variable = options.password_env or ("PGPASSWORD" if "PGPASSWORD" in os.environ else None)
    return Secret.env(variable) if variable else None


def session(cores: str = "1") -> SparkSession:
    """A local session, by default a small one.

    Raises:
        ConfigurationError: a dependency is missing (``DEPENDENCY_MISSING``).
    """
    try:
        from pyspark.sql import SparkSession

        from epochal._session import configure

        return configure(
            SparkSession.builder.master(f"local[{cores}]").appName("epochal").config(map=_QUICK)
        ).getOrCreate()
    except Exception:
        info.require()
        raise
