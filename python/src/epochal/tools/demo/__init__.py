"""``python -m epochal demo``: an API streamed into a table, killed half way and resumed.

======================  ================================================
``comments``            what the API serves
``server``              the API
``job``                 the streaming job, run in a process of its own
``process``             starts that process, and kills it
``database``            looks into the target from outside
``story``               the order of events, and what must be true at the end
``screen``              the terminal
======================  ================================================
"""
