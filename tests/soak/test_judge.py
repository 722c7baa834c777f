"""The judge of ``make soak`` distinguishes series that grow from flat ones."""

from __future__ import annotations

import random

import pytest

from soak.judge import LEAST_SAMPLES, Limit, judge

TIMES = [60.0 * n for n in range(60)]
LIMIT = Limit(absolute=5)
NOISE = random.Random(1)


def flat(values: list[float], limit: Limit = LIMIT) -> bool:
    return judge("series", TIMES[: len(values)], values, limit).flat


def test_a_series_that_grows_steadily_is_not_flat() -> None:
    assert not flat([100 + 0.2 * n for n in range(60)])


def test_growth_shows_through_noise_and_peaks() -> None:
    noisy = [100 + 0.5 * n + NOISE.uniform(-3, 3) for n in range(60)]
    assert not flat([value + 200 if n % 7 == 0 else value for n, value in enumerate(noisy)])


def test_a_permanent_step_is_growth() -> None:
    assert not flat([100.0] * 35 + [130.0] * 25)


def test_noise_and_peaks_are_flat() -> None:
    noisy = [100 + NOISE.uniform(-3, 3) for _ in range(60)]
    assert flat([value + 200 if n % 7 == 0 else value for n, value in enumerate(noisy)])


def test_a_sawtooth_is_flat() -> None:
    assert flat([100.0 + n % 5 * 10 for n in range(60)])


def test_growth_that_ends_with_the_warm_up_is_flat() -> None:
    assert flat([min(100.0 + 10 * n, 290.0) for n in range(60)])


def test_a_series_may_shrink() -> None:
    assert flat([500.0 - n for n in range(60)])


def test_a_limit_is_the_larger_of_its_two_parts() -> None:
    grows = [1000 + 0.5 * n for n in range(60)]
    assert not flat(grows, Limit(absolute=5, relative=0.01))
    assert flat(grows, Limit(absolute=5, relative=0.03))


def test_too_few_samples_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least"):
        flat([1.0] * (LEAST_SAMPLES - 1))
