"""What looks at queries, checkpoints, ledgers, APIs and sources; it imports the rest of the package, which does not
import it.

==============  ==============================================================================
``watch``       ``epochal.watch``, ``queries``, ``await_all``, ``stop_all``; IPython's formatters
``display``     ``epochal.display``
``checkpoint``  ``epochal.checkpoint``, and repairs of one
``ledger``      ``epochal.ledger``, and repairs of one
``probe``       ``epochal.rest.probe``
``testing``     ``epochal.testing``
``demo``        ``python -m epochal demo``
``cli``         the command line
==============  ==============================================================================
"""
