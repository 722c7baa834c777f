"""Writes the pictures of the documentation: terminal output of real runs, as ``docs/images/<name>.svg``.

``make pictures`` runs it. Each picture is a function in ``PICTURES`` that prints to a console.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from epochal.tools.watch.state import QueryState

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
WIDTH = 100


class Transcript:
    """The messages of the demo, with its progress bar only at the kill and at the end."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._ended = False

    def says(self, text: str) -> None:
        killed = re.match(r"SIGKILL: .* with (\d+) of", text)
        if killed:
            self._bar(int(killed[1]))
        self._console.print(text, highlight=False, markup=False, style="bold red" if killed else "")

    def rows(self, count: int) -> None:
        if count == self._total and not self._ended:
            self._ended = True
            self._bar(count)

    def _bar(self, count: int) -> None:
        progress = Progress(TextColumn("rows in the table"), BarColumn(60), MofNCompleteColumn(), console=self._console)
        progress.add_task("rows", total=self._total, completed=count)
        self._console.print(progress.get_renderable())


def demo(console: Console) -> None:
    """``make demo``: a job that is killed half way and restarted."""
    from epochal.tools.demo import screen, story
    from epochal.tools.demo.database import SqliteTarget

    directory, count = Path("build/demo"), 500  # relative, since the picture shows the path
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    target = SqliteTarget(directory / "comments.db")
    screen.show(console, story.play(target, directory, Transcript(console, count), count=count))


class Frames:
    """A watch on a terminal: one frame half way, and the summary."""

    pace = 0.05

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn = False

    def show(self, states: Sequence[QueryState]) -> None:
        from epochal.tools.watch.terminal import block

        if not self._drawn and (states[0].tally.fraction or 0) >= 0.5:
            self._drawn = True
            self._console.print(block(states[0]), highlight=False)

    def close(self, states: Sequence[QueryState], summary: Sequence[str]) -> None:
        self._console.print("", *summary, sep="\n", highlight=False, markup=False)


def watch(console: Console) -> None:
    """The program of ``docs/watch.md``."""
    from pyspark.sql import SparkSession

    import epochal
    from epochal.tools.watch import watching

    directory = Path("build/watch")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    os.chdir(directory)
    quiet = {"spark.ui.enabled": False, "spark.log.level": "OFF"}
    spark = epochal.configure(SparkSession.builder.master("local[2]").config(map=quiet)).getOrCreate()
    rows = epochal.read.random(spark, rows_per_batch=100, max_rows=1000)
    query = epochal.write.jdbc(
        rows,
        "jdbc:sqlite:strings.db",
        table="strings",
        create_table=True,
        checkpoint="checkpoint",
        trigger="availableNow",
    )
    view = Frames(console)
    watching.run([query], view, view.pace)
    spark.stop()
    os.chdir(ROOT)


PICTURES: dict[str, Callable[[Console], None]] = {"make demo": demo, "python strings.py": watch}


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for title, draw in PICTURES.items():
        console = Console(record=True, width=WIDTH, force_terminal=True, file=io.StringIO(), color_system="truecolor")
        console.print(f"[bold green]$[/] {title}")
        draw(console)
        svg = console.export_svg(title=title, unique_id=draw.__name__)
        svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # the picture loads no fonts from the network
        file = IMAGES / f"{draw.__name__}.svg"
        file.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")
        print(file.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
