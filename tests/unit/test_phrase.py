"""Phrases: a step in words, with its numbers resolved."""

from __future__ import annotations

import pytest
from writing import rule_of, step_of

from denpex_rules.phrase import step_in_words


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            "confirm timeout where rank != lost.rank stalled between lost - 60s and lost + 5m",
            (
                "Proof where it is there: the first sighting of `timeout`, whose `rank` is not `lost.rank`, "
                "whose `stalled` is between 1m before `lost` and 5m after `lost`. It is called `timeout`."
            ),
        ),
        (
            "refute alive = last progress where rank == 3 and step >= 7 within 1m..90s after lost",
            (
                "Speaks against the match where it is there: the last sighting of `progress`, whose `rank` is `3` and `step` is at "
                "least `7`, seen between 1m after `lost` and 1m30s after `lost`. It is called `alive`."
            ),
        ),
        (
            "confirm timeout distinct rank >= 2 in 10m after lost",
            (
                "Proof where it is there: sightings of `timeout` with at least 2 different `rank` within 10m, "
                "seen not before `lost`. It is called `timeout`."
            ),
        ),
        (
            "unless timeout count >= 3 before lost",
            "The match holds only without it: at least 3 sightings of `timeout`, seen not after `lost`. It is called `timeout`.",
        ),
        (
            "confirm silence where rank == lost.rank for 90s after lost + 5s",
            "Proof where it is there: silence of rank `lost.rank` for 1m30s from 5s after `lost` on.",
        ),
    ],
)
def test_steps(step: str, words: str) -> None:
    """Each kind of clause is said, durations in their shortest form."""
    assert step_in_words(step_of(step)) == words


def test_the_trigger() -> None:
    """A step without clauses says what is needed, and an instant with several terms is shown as written."""
    first, second = rule_of("  require lost\n  confirm timeout\n    after lost + 5m - 10s").steps
    assert step_in_words(first) == "Needed: the first sighting of `lost`. It is called `lost`."
    assert "seen not before `lost + 5m - 10s`" in step_in_words(second)
