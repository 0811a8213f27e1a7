"""Whose log would have to be read before an absence is proven."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from making import activity, at, timeline

from denpex_rules.clock import SECOND, Instant
from denpex_rules.panel import LISTED, Interval, Panels, Whom
from denpex_rules.sighting import Activity, Actor, Dropped, SourceCoverage
from denpex_rules.timeline import Need, Timeline, assemble, presence_of
from denpex_rules.topology import Topology

TEN = at("10:00:00")


def kernel(host: str, first: str, last: str, source: str = "") -> Activity:
    """Return the kernel log of a host; it reaches as far as its own lines do."""
    return activity(source or f"{host}.log", [(first, last)], actor=Actor(host=host), kind="kernel")


def during(lo: str | None, hi: str | None) -> Interval:
    """Return an interval of wall time."""
    return Interval(at(lo).lo if lo else None, at(hi).lo if hi else None, TEN)


def hosts(line: Timeline, interval: Interval, actor: Whom | None = None) -> list[str | None]:
    """Return the hosts whose kernel log would have to be read, the event being dropped nowhere."""
    return [need.host for need in Panels(line).uncovered("e", "kernel", actor or Whom(), interval)]


def test_log_that_ends_too_early_is_named() -> None:
    """Each side of the interval must be reached; a side that is open is reached by every log."""
    line = timeline([], [kernel("a", "09:00:00", "11:00:00"), kernel("b", "10:00:00", "10:30:00")])
    assert hosts(line, during("10:00:00", "10:30:00")) == []
    assert hosts(line, during("10:00:00", "10:31:00")) == ["b"]
    assert hosts(line, during("09:30:00", None)) == ["b"]
    assert hosts(line, during("08:00:00", None)) == ["a", "b"]
    assert hosts(line, during(None, None)) == []


def test_one_of_several_logs_of_an_actor_is_enough() -> None:
    """A host is covered where one of its logs covers the whole interval, not where two cover a half each."""
    first, second = kernel("a", "09:00:00", "10:10:00", "a.1"), kernel("a", "10:05:00", "11:00:00", "a.2")
    line = timeline([], [first, second])
    assert hosts(line, during("10:06:00", "10:09:00")) == []
    assert hosts(line, during("10:00:00", "10:30:00")) == ["a"]


def test_who_is_singled_out_is_asked_for_alone() -> None:
    """What other hosts' logs lack does not matter; a host without a log is the one that is missing."""
    line = timeline([], [kernel("a", "09:00:00", "11:00:00"), kernel("b", "10:00:00", "10:30:00")])
    assert hosts(line, during("09:30:00", None), Whom(host="a")) == []
    assert hosts(line, during("09:30:00", None), Whom(host="c")) == ["c"]


def test_unknown_bounds_are_reached_by_no_log() -> None:
    """Where nothing tells when, no log proves anything."""
    line = timeline([], [kernel("a", "09:00:00", "11:00:00")])
    assert hosts(line, Interval(None, None, None, unknown=True)) == ["a"]


def test_log_of_another_clock_reaches_nothing() -> None:
    """Uptime can't be compared with wall time; without bounds nothing has to be compared."""
    up = evolve(kernel("a", "09:00:00", "11:00:00"), frame=Instant(0, 9 * SECOND, "monotonic", "a"))
    line = timeline([], [up, kernel("b", "09:00:00", "11:00:00")])
    assert hosts(line, during("10:00:00", None)) == ["a"]
    assert hosts(line, during(None, None)) == []


def test_dropped_lines_prove_nothing_where_they_may_lie() -> None:
    """A log that dropped sightings of the event inside of the interval does not cover it; those of another event don't matter."""
    log = kernel("a", "09:00:00", "11:00:00")
    lost = (Dropped("e", "", 3, at("10:00:00", "10:00:05")),)
    source = SourceCoverage("a.log", evicted=3, activities=(log,), dropped=lost)
    line = assemble(Topology(), 0, (), [presence_of(log)], [source])
    assert hosts(line, during("10:00:00", "10:10:00")) == ["a"]
    assert hosts(line, during("10:01:00", "10:10:00")) == []
    assert Panels(line).uncovered("other", "kernel", Whom(), during("10:00:00", "10:10:00")) == []
    assert hosts(assemble(Topology(), 0, (), [presence_of(log)], [evolve(source, dropped=())]), during("10:01:00", None)) == ["a"]


def test_ranks_without_a_log_are_missing() -> None:
    """Where a line tells how many ranks there are, those that were not read are named, the first of them."""
    line = timeline([], [activity("r0.log", [("09:00:00", "11:00:00")], actor=Actor(rank=0))], topology=Topology(world_size=200))
    needs = Panels(line).uncovered("e", "rank", Whom(), during("10:00:00", None))
    assert [need.rank for need in needs] == list(range(1, LISTED + 1))
    assert needs[0] == Need("rank", 1, lo=TEN.lo)
    assert Panels(line).uncovered("e", "rank", Whom(rank=0), during("10:00:00", None)) == []


def test_only_the_first_of_many_are_named() -> None:
    """Nobody reads on after dozens of logs."""
    line = timeline([], [kernel(f"n{n:03}", "10:00:00", "11:00:00") for n in range(100)])
    assert hosts(line, during("09:00:00", None)) == [f"n{n:03}" for n in range(LISTED)]


MINUTES = st.integers(0, 5)
LOGS = st.lists(st.tuples(MINUTES, MINUTES, st.sampled_from(("wall", "local"))), max_size=8)


@given(LOGS, st.none() | MINUTES, st.none() | MINUTES)
def test_what_is_sorted_finds_what_a_look_at_each_finds(
    logs: Sequence[tuple[int, int, str]], lo: int | None, hi: int | None
) -> None:
    """A log covers an interval that can be compared with its stamps and whose closed sides both lie between its ends."""
    made = []
    for number, (first, length, clock) in enumerate(logs):
        log = kernel(f"h{number}", f"10:0{first}:00", f"10:{first + length:02}:00")
        made.append(log if clock == "wall" else evolve(log, frame=evolve(log.frame, clock="local")))
    bounds = [bound for bound in (lo, hi) if bound is not None]
    short = [
        f"h{number}"
        for number, (first, length, clock) in enumerate(logs)
        if bounds and (clock != "wall" or any(not first <= bound <= first + length for bound in bounds))
    ]
    interval = during(*(None if side is None else f"10:0{side}:00" for side in (lo, hi)))
    assert hosts(timeline([], made), interval) == (short if logs else [None])
