"""The moments at which processes are killed."""

from __future__ import annotations

import os
import random

#: ``make test-crash``: everything that can be killed, and as often as it is meant to be.
FULL = os.environ.get("EPOCHAL_CRASH") == "full"

#: Of every run but those of ``make test-crash``: what fails once fails again.
FIXED = 20_260_101


def kill_seed() -> int:
    """``EPOCHAL_KILL_SEED``, where it is set; a fresh one in ``make test-crash``; else always the same."""
    if given := os.environ.get("EPOCHAL_KILL_SEED"):
        return int(given)
    return random.SystemRandom().randrange(2**32) if FULL else FIXED
