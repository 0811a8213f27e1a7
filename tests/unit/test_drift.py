"""Clocks that disagree, as the steps of a job show."""

from __future__ import annotations

from attrs import evolve
from making import at, sighting, timeline

from denpex_rules import drift
from denpex_rules.clock import SECOND
from denpex_rules.sighting import Actor, Sighting
from denpex_rules.timeline import Timeline

PROGRESS = ("step",)


def said(host: str, rank: int, number: int, when: str) -> Sighting:
    """Return a line of a rank about a step."""
    found = sighting("step", at(when), actor=Actor(rank=rank, host=host), source=f"r{rank}.log", line=number, step=number)
    return evolve(found, instant=evolve(found.instant, year=True))


def bound(one: list[str], other: list[str]) -> Timeline:
    """Return the timeline of two hosts that ended the same steps at these times, after its bound was looked at."""
    lines = [said("node-01", 0, n, t) for n, t in enumerate(one)] + [said("node-02", 1, n, t) for n, t in enumerate(other)]
    made = timeline(lines, [])
    drift.widen(made, PROGRESS)
    return made


def test_constant_difference_widens_the_bound() -> None:
    """Steps that always end a minute later on one host show a clock that is a minute ahead."""
    made = bound(["10:00:00", "10:01:00", "10:02:00", "10:03:00"], ["10:01:00", "10:02:00", "10:03:00", "10:04:00"])
    assert made.skew >= 60 * SECOND
    assert "node-01 and node-02" in made.notes[-1]


def test_clocks_that_agree_leave_the_bound() -> None:
    """A difference within the bound says nothing."""
    made = bound(["10:00:00", "10:01:00", "10:02:00"], ["10:00:02", "10:01:02", "10:02:02"])
    assert (made.skew, made.notes) == (5 * SECOND, ())


def test_differences_that_vary_are_no_clock() -> None:
    """Hosts that end steps at unrelated times are not compared."""
    assert bound(["10:00:00", "10:01:00", "10:02:00"], ["10:00:10", "10:01:50", "10:05:00"]).skew == 5 * SECOND


def test_second_attempt_elsewhere_is_no_clock() -> None:
    """The same steps on another host after the first one ended are a second attempt."""
    assert bound(["10:00:00", "10:01:00", "10:02:00"], ["10:10:00", "10:11:00", "10:12:00"]).skew == 5 * SECOND
