"""Tools that inspect queries, checkpoints, ledgers, APIs and sources. They import the rest of the package, which does
not import them.

==============  ==============================================================================
``watch``       ``epochal.watch``, ``queries``, ``await_all``, ``stop_all``; IPython's formatters
``display``     ``epochal.display``
``checkpoint``  ``epochal.checkpoint``, and repairs of a checkpoint
``ledger``      ``epochal.ledger``, and repairs of a ledger
``probe``       ``epochal.rest.probe``
``capture``     ``epochal.cdc.check``
``testing``     ``epochal.testing``
``demo``        ``python -m epochal demo``
``cli``         the command line
==============  ==============================================================================
"""
