"""Merging sources: copies, clocks, coverage."""

from __future__ import annotations

from attrs import evolve
from making import activity, at, sighting, timeline

from denpex_rules.calendar import Calendar, Clocks
from denpex_rules.clock import SECOND, Order
from denpex_rules.rule import Kind
from denpex_rules.sighting import Actor, Emitter, ErrorLine, Scan, Sighting, SourceCoverage
from denpex_rules.timeline import Need, Point, build, point_of, spoke


def test_skew_after_a_clock_was_put_right() -> None:
    """One rank, emitter or host has one clock only where the host that printed is known, and for one kind of stamps."""
    made = timeline([], [activity("a.log", [], actor=Actor(host="a")), activity("b.log", [], actor=Actor(host="b"))])
    made.clocks = Clocks({("b", "wall"): 60 * SECOND}, {("a", "wall"): 0, ("b", "wall"): 9 * SECOND}, 70 * SECOND)
    b = Point(at("10:00:00"), "b", Emitter("b.log"), rank=1)
    arrived = evolve(b, instant=evolve(b.instant, clock="arrival"), emitter=None)
    assert made.skew_between(b, b) == made.skew_between(b, Point(b.instant, "b")) == 0
    assert made.skew_between(b, Point(b.instant, "a", Emitter("a.log"))) == 14 * SECOND
    assert made.skew_between(b, Point(b.instant, "b", Emitter("a.log"))) == 70 * SECOND
    assert made.skew_between(b, Point(b.instant, None, rank=1)) == made.skew_between(b, arrived) == 70 * SECOND
    assert made.skew_between(Point(b.instant, rank=1), Point(b.instant, rank=1)) == 0
    assert (made.stamped(b), made.stamped(Point(b.instant, "b", Emitter("a.log")))) == ("b", None)


def test_line_order_decides_within_one_emitter() -> None:
    """Two lines with one stamp are ordered by their place when one emitter printed both, and uncertain otherwise."""
    first, second = sighting("e", at("10:00:00"), line=1), sighting("e", at("10:00:00"), line=2)
    other = sighting("e", at("10:00:00"), source="b.log", line=9)
    made = timeline([first, second, other], [])
    assert made.order(point_of(first), point_of(second)) is Order.BEFORE
    assert made.order(point_of(first), point_of(other)) is Order.UNCERTAIN


def test_skew_is_zero_within_a_host_a_rank_or_an_emitter() -> None:
    """Clocks differ only between places that are not known to be the same."""
    made = timeline([], [])
    a = Point(at("10:00:00"), "node-01", Emitter("a.log"), rank=1)
    assert made.skew_between(a, Point(at("10:00:00"), "node-01", Emitter("b.log"))) == 0
    assert made.skew_between(a, Point(at("10:00:00"), None, Emitter("b.log"), rank=1)) == 0
    assert made.skew_between(a, Point(at("10:00:00"), "node-02", Emitter("b.log"))) == 5 * SECOND
    assert made.skew_between(a, Point(at("10:00:00"))) == 5 * SECOND


def test_tee_of_a_rank_is_one_stream() -> None:
    """A rank's output that stands in its own file and in the launcher's log counts once, untimed lines too."""
    own = [sighting("e", source="r1.log", line=n, actor=Actor(rank=1), text=f"line {n}") for n in (1, 2)]
    copy = [sighting("e", source="console.log", label="default1", line=n, actor=Actor(rank=1), text=f"line {n}") for n in (1, 2)]
    assert len(timeline([*own, *copy], []).of("e")) == 2


def test_same_words_of_two_ranks_are_two_lines() -> None:
    """Equal lines of different ranks are not copies."""
    both = [sighting("e", at("10:00:00"), source=f"r{r}.log", actor=Actor(rank=r), text="same") for r in (0, 1)]
    assert len(timeline(both, []).of("e")) == 2


def test_repeated_line_of_one_file_is_two_lines() -> None:
    """A burst of one message within a second is not a copy of itself."""
    burst = [sighting("e", at("10:00:00"), line=n, text="same") for n in (1, 2)]
    assert len(timeline(burst, []).of("e")) == 2


def test_rank_logs_share_their_end() -> None:
    """Rank logs that were collected together reach as far as the last line of any of them; kernel logs do not."""
    logs = [
        activity("r0.log", [("10:00:00", "10:30:00")], actor=Actor(rank=0)),
        activity("r1.log", [("10:00:00", "10:05:00")], actor=Actor(rank=1)),
        activity("k.log", [("10:00:00", "10:05:00")], actor=Actor(host="node-01"), kind="kernel"),
    ]
    made = timeline([], logs)
    reach = {p.activity.emitter.source: made.reach(p) for p in made.presences}
    assert reach["r1.log"] == (at("10:00:00").lo, at("10:30:00").lo)
    assert reach["k.log"] == (at("10:00:00").lo, at("10:05:00").lo)


def test_spoke_finds_the_run_that_touches_an_interval() -> None:
    """Intervals are closed."""
    assert spoke([(1, 3), (7, 9)], 4, 6) is None
    assert spoke([(1, 3), (7, 9)], 3, 5) == (1, 3)
    assert spoke([(1, 3), (7, 9)], 9, 20) == (7, 9)


def test_sighting_speaks_for_whom_its_line_names() -> None:
    """A launcher's line about a worker becomes that worker's, by rank, through the box that names both."""
    failed = sighting("failed", at("10:00:00"), source="console.log", label="agent", kind="agent", local_rank=2, pid=42)
    child = sighting(
        "child", at("10:00:01"), source="console.log", label="agent", line=2, kind="agent", rank=6, local_rank=2, pid=42
    )
    made = build(Scan((failed, child), (SourceCoverage("console.log"),)), frozenset({"child"}), Calendar())
    assert made.of("failed")[0].actor.rank == 6


def test_errors_are_resolved_too() -> None:
    """An unexplained error gets its rank and its year like a sighting."""
    stamp = at("10:00:00")
    tagged = activity("console.log", [("10:00:00", "10:00:01")], label="default1", actor=Actor(local_rank=1, rank=5))
    error = ErrorLine("t", Emitter("console.log", "default1"), 1, 0, 1, stamp, Actor(local_rank=1), "text")
    made = build(Scan((), (SourceCoverage("console.log", activities=(tagged,)),), (error,)), frozenset(), Calendar())
    assert made.errors[0].actor.rank == 5


def test_need_is_said_in_words() -> None:
    """What is missing names the log, whose it is, and the interval where that is bounded."""
    lo, hi = at("10:00:00").lo, at("10:05:00").lo
    assert Need("kernel", host="node-02", lo=lo, hi=hi).text() == (
        "the kernel log of host node-02 from 2026-11-30T10:00:00Z to 2026-11-30T10:05:00Z"
    )
    assert Need("rank", rank=3).text() == "the log of rank 3"


def test_console_shows_one_attempt_after_the_other() -> None:
    """What a launcher's console shows below a restart is of the next attempt, by the number that the restart line tells."""

    def seen(event: str, line: int, kind: Kind = "rank", **fields: int) -> Sighting:
        return sighting(event, at(f"10:00:{line:02}"), source="console.log", line=line, kind=kind, actor=Actor(rank=0), **fields)

    restart = seen("denpex:lib.elastic#restarting", 5, "agent", left=2, all=3)
    scan = Scan((seen("e", 1), restart, seen("e", 9), seen("k", 10, "kernel")), (SourceCoverage("console.log"),))
    found = build(scan, frozenset(), Calendar()).sightings
    assert {(s.event, s.line): s.actor.attempt for s in found} == {
        ("e", 1): 1,
        ("denpex:lib.elastic#restarting", 5): 1,
        ("e", 9): 2,
        ("k", 10): None,
    }
