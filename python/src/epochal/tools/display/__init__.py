"""``epochal.display`` and its modules.

=============  =====================================================================
``call``       the function: checks arguments, starts the query, chooses a front end
``handle``     the return value
``live``       the query and its bounded table
``cells``      SQL expressions for columns as text
``plots``      SQL expressions for points, and the choice of columns
``snapshot``   the state of a display at one moment, as frozen values
``markup``     a snapshot as static HTML
``terminal``   a table that updates in place (rich), or plain lines
``waiting``    waits until the query ends, or Ctrl-C stops it
``notebook``   a widget, or HTML that is replaced
``widget``     the widget (anywidget, plotly); the only file that needs the extra
=============  =====================================================================
"""

from epochal.tools.display.call import display
from epochal.tools.display.handle import Display

__all__ = ["Display", "display"]
