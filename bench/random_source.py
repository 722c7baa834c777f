"""epochal-random compared with Spark's rate-micro-batch, both into noop, 1,000,000 rows a batch."""

from __future__ import annotations

from steady import Contest, session, steady_state

ROWS_PER_BATCH = 1_000_000
BATCHES = 22


def main() -> bool:
    spark = session()

    def measure(name: str) -> float:
        source = spark.readStream.format(name).option("rowsPerBatch", ROWS_PER_BATCH).option("numPartitions", 2)
        return steady_state(source.load(), BATCHES)

    try:
        return Contest(
            "Random strings into noop",
            {
                "epochal-random": lambda: measure("epochal-random"),
                "rate-micro-batch": lambda: measure("rate-micro-batch"),
            },
            goals={("epochal-random", "rate-micro-batch"): 0.9},
        ).run()
    finally:
        spark.stop()
