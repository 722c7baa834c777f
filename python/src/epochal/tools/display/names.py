"""The names of displays, which are those of their views."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from epochal.errors import OptionError
from epochal.tools.display.handle import Display
from epochal.tools.display.notebook_cell import running_cell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Maximum number of ended displays without a user-defined name whose views are kept.
_MAX_ENDED = 8

#: The displays with a view, by its name.
displays: dict[str, Display] = {}


def claim(spark: SparkSession, name: str) -> None:
    """Frees a user-defined name: stops another display that has it, but replaces no other table or view.

    Raises:
        OptionError: a table or view that is not a display's has this name (``OPTION_CONFLICT``).
    """
    if name in displays:
        displays[name].stop()
    elif spark.catalog.tableExists(name):
        raise OptionError(
            "OPTION_CONFLICT",
            f"name={name!r} is taken: the session has a table or a view of this name, which a display would hide.",
            "Choose another name, or drop the view: spark.catalog.dropTempView(…).",
        )


def reserve(spark: SparkSession, name: str | None) -> str:
    """Claims a name for a stream, or finds one. Stops unnamed displays from earlier runs of the current cell, and drops
    the views of displays that ended long ago.

    Raises:
        OptionError: as of ``claim``.
    """
    cell = running_cell()
    automatic = [(one, one._origin) for one in displays.values() if one._origin is not None]
    for one, origin in automatic:
        if cell.id is not None and origin.id == cell.id and origin.run != cell.run:
            one.stop()
    over = [one for one, _ in automatic if one._snapshot.status.is_over]
    for one in over[: max(len(over) - _MAX_ENDED, 0)]:
        displays.pop(str(one.name))
        one._drop()
    if name is not None:
        claim(spark, name)
        return name
    return next(one for one in map("display_{}".format, itertools.count(1)) if not spark.catalog.tableExists(one))
