"""``epochal.display`` and its modules.

=================  =====================================================================
``call``           the function: checks arguments, chooses a front end
``names``          the displays with a view, by its name
``query``          starts the query
``live``           the query and its bounded table
``selection``      the part of a frame that is shown, as a snapshot
``cells``          SQL expressions for columns as text
``plots``          SQL expressions for points, and the choice of columns
``snapshot``       the state of a display at one moment, as frozen values
``handle``         the return value, and the thread that polls the query
``text``           a snapshot as plain text
``markup``         a snapshot as static HTML
``terminal``       a table that updates in place (rich), or plain text
``waiting``        waits until the query ends, or Ctrl-C stops it
``notebook``       a widget, or HTML that is replaced
``notebook_cell``  the cell that runs
``widget``         the widget (anywidget, plotly); the only file that needs the extra
=================  =====================================================================
"""

from epochal.tools.display.call import display
from epochal.tools.display.handle import Display

__all__ = ["Display", "display"]
