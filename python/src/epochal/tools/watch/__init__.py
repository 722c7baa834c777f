"""``epochal.watch``, ``epochal.queries`` and what belongs to them.

================  ================================================================
``progress``      a progress of Spark's as frozen values
``tally``         what the progresses of a run add up to: rows, rate, lag, ETA
``state``         what is known of a query now; the one place that asks a query
``ending``        what a query has ended with
``words``         a state as text: a line, a summary, the facts of a block
``views``         where a watch is shown: plain lines, or what the place can do
``terminal``      blocks that update in place (rich)
``notebook``      a table that updates in place (IPython)
``interrupts``    Ctrl-C as a count instead of an exception
``watching``      the loop
``queries``       the queries of a session: as a table, stopped, awaited
``formatters``    how IPython shows a ``StreamingQuery``
================  ================================================================
"""
