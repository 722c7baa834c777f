"""How often processes are killed, and seeds for the moments."""

from __future__ import annotations

import os
import random

#: Whether this is ``make test-crash``, with all kills.
FULL = os.environ.get("EPOCHAL_CRASH") == "full"

#: Whether this is ``make test``, with one kill of each kind.
SMALL_SUITE = os.environ.get("EPOCHAL_TESTS") == "small"

#: Fixed seed of all runs except ``make test-crash``, so that failures are reproducible.
FIXED = 20_260_101


def kill_seed() -> int:
    """``EPOCHAL_KILL_SEED`` if set; else a random seed in ``make test-crash`` and a fixed one otherwise."""
    if given := os.environ.get("EPOCHAL_KILL_SEED"):
        return int(given)
    return random.SystemRandom().randrange(2**32) if FULL else FIXED
