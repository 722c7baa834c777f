"""Decides whether a series of measurements is flat. The first third is warm-up; the growth of the rest counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

LEAST_SAMPLES = 9


@dataclass(frozen=True)
class Limit:
    """Maximum growth of a series after warm-up: the larger of ``absolute`` and ``relative`` × its median."""

    absolute: float
    relative: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """Verdict on a series.

    Attributes:
        values: all samples, warm-up included.
        growth: growth after warm-up: slope × time, or the difference between the medians of its halves, if that is
            more; negative for a series that shrinks.
        allowed: maximum growth.
    """

    name: str
    values: tuple[float, ...]
    growth: float
    allowed: float

    @property
    def flat(self) -> bool:
        return self.growth <= self.allowed

    def __str__(self) -> str:
        judged = self.values[warm_up(len(self.values)) :]
        shown = f"{self.values[0]:12,.0f} {judged[0]:12,.0f} {median(judged):12,.0f} {self.values[-1]:12,.0f}"
        return f"{self.name:24} {shown} {self.growth:+12,.1f} {self.allowed:12,.1f}  {'flat' if self.flat else 'GROWS'}"


HEADER = (
    f"{'':24} {'first':>12} {'after warm-up':>12} {'median':>11} {'last':>12} {'growth':>12} {'allowed':>12}  verdict"
)


def warm_up(samples: int) -> int:
    """Number of warm-up samples."""
    return samples // 3


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Median of the slopes of all pairs (Theil and Sen). Tolerates a third of outliers."""
    pairs = combinations(zip(times, values, strict=True), 2)
    return median((later - earlier) / (then - now) for (now, earlier), (then, later) in pairs)


def judge(name: str, times: Sequence[float], values: Sequence[float], limit: Limit) -> Verdict:
    """The verdict on one series; a ValueError for too few samples."""
    if len(values) < LEAST_SAMPLES:
        raise ValueError(f"{name}: {len(values)} samples, at least {LEAST_SAMPLES} are needed")
    first = warm_up(len(values))
    judged, moments = values[first:], times[first:]
    half = len(judged) // 2
    steady = slope(moments, judged) * (moments[-1] - moments[0])
    stepwise = median(judged[half:]) - median(judged[:half])
    growth = max(steady, stepwise)
    return Verdict(name, tuple(values), growth, max(limit.absolute, limit.relative * median(judged)))
