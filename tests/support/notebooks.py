"""Jupyter notebooks. Only a test that uses one imports nbformat: it takes as long as importing all tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def of(*cells: str, **metadata: Any) -> Any:
    """A notebook of cells of code."""
    v4 = _nbformat().v4
    return v4.new_notebook(cells=[v4.new_code_cell(code) for code in cells], metadata=metadata)


def read(path: Path) -> Any:
    return _nbformat().read(path, as_version=4)


def write(notebook: Any, path: Path) -> None:
    _nbformat().write(notebook, path)


def run(notebook: Any, **options: Any) -> None:
    """Runs all cells, which then contain their outputs.

    Args:
        options: those of `nbclient.NotebookClient`.
    """
    import nbclient

    nbclient.NotebookClient(notebook, **{"timeout": 600, "kernel_name": "python3", **options}).execute()


def _nbformat() -> Any:
    import nbformat

    return nbformat
