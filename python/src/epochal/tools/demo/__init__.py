"""``python -m epochal demo``: an API streamed into a table, killed half way and resumed.

======================  ================================================
``comments``            the data of the API
``server``              the API
``job``                 the streaming job, run in a separate process
``process``             starts and kills that process
``database``            queries the target independently of Spark
``story``               the sequence of events, and the final checks
``screen``              terminal output
======================  ================================================
"""
