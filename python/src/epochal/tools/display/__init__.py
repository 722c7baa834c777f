"""``epochal.display``, and what belongs to it.

=============  =====================================================================
``call``       the function: checks arguments, starts, chooses a front end
``handle``     what it returns
``live``       the query, its bounded table, and what both are now
``cells``      which expressions of SQL make columns text
``plots``      which expressions make points, and which columns they are
``snapshot``   what is shown at one moment, as frozen values
``markup``     a snapshot as static HTML
``terminal``   a table that updates in place (rich), or plain lines
``waiting``    until the query ends, or Ctrl-C stops it
``notebook``   a widget, or HTML that is replaced
``widget``     the widget (anywidget, plotly); the one file that needs the extra
=============  =====================================================================
"""

from epochal.tools.display.call import display
from epochal.tools.display.handle import Display

__all__ = ["Display", "display"]
