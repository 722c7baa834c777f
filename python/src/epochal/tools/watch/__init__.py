"""``epochal.watch``, ``epochal.queries`` and their modules.

================  ================================================================
``progress``      Spark's progress reports as frozen values
``tally``         totals over the reports of a run: rows, rate, lag, ETA
``state``         the state of a query, and its error; the only module that polls a query
``words``         a state as text: a line, a summary, the facts of a block
``views``         the front ends of a watch; plain lines where no other is available
``terminal``      blocks that update in place (rich)
``notebook``      a table that updates in place (IPython)
``interrupts``    Ctrl-C as a count instead of an exception
``watching``      the loop
``queries``       lists, stops and awaits the queries of a session
``formatters``    how IPython shows a ``StreamingQuery``
================  ================================================================
"""
