"""The promises, in the order of their checks. The names are the same as in the JVM kit."""

from __future__ import annotations

from epochal.tools.testing.report import Promise

OFFSET_ROUND_TRIP = Promise("offset-round-trip", "an offset comes back from JSON as it was")
FIRST_OFFSET = Promise("first-offset", "the first offset is the same after a restart")
END_FROM_ORIGIN = Promise(
    "end-from-origin", "the end offset comes from what the origin holds: nothing new gives no batch"
)
IDEMPOTENT_PLAN = Promise("idempotent-plan", "the same two offsets give the same rows, after a restart and later")
ONCE_EACH = Promise("once-each", "consecutive batches deliver every row once, with any limits and restarts")
MAX_ROWS = Promise("max-rows", "a maximum of rows is kept")
COMMIT = Promise(
    "commit", "a batch can be replayed after the batch before it was committed, and committing twice changes nothing"
)
AVAILABLE_NOW_TARGET = Promise("available-now-target", "AvailableNow reads nothing that is added after its start")

REPLAY = Promise("replay", "a batch whose commit is missing from the checkpoint is replayed with the same rows")
CHECKPOINT_ALONE = Promise(
    "checkpoint-alone",
    "everything that a restart needs is in the checkpoint: a copy of it resumes where it was taken",
)
QUERY_AVAILABLE_NOW = Promise(
    "query-available-now", "a query under AvailableNow ends, and the next one reads nothing again"
)
RESTARTS = Promise("restarts", "stopped and started at any moment, a query delivers every row once")

#: Not a promise: an exemption that changes the check of ``checkpoint-alone``.
KEEPS_ROWS = "keeps-rows"
