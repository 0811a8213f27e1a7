"""Actors and instants of what the scan half read, as topology and calendar tell them."""

from __future__ import annotations

from making import activity, at, sighting

from denpex_rules.calendar import Calendar
from denpex_rules.clock import HOUR
from denpex_rules.resolution import Losses, Resolution, in_attempts
from denpex_rules.rule import Kind
from denpex_rules.sighting import Activity, Actor, Dropped, Emitter, ErrorLine, Scan, Sighting, SourceCoverage
from denpex_rules.topology import build

AHEAD = Calendar(offsets={"node-07": HOUR})
ON_HOST = Actor(rank=3, host="node-07")


def resolution(sightings: list[Sighting], activities: list[Activity], job: str | None = None) -> Resolution:
    """Return what resolves these, every event telling who is who."""
    scan = Scan(tuple(sightings), (SourceCoverage("a.log", activities=tuple(activities)),))
    return Resolution(build(sightings, activities, frozenset({"init"})), AHEAD.resolver(scan), job)


def test_sighting_is_of_whom_its_line_names() -> None:
    """Who is named is its actor; its time is that of the host that printed it."""
    init = sighting("init", at("10:00:00"), source="a.log", rank=3, host="node-07", device="0000:41:00")
    agent = sighting("e", at("11:00:00"), source="k.log", actor=Actor(host="node-07"), kind="agent", rank=5)
    found = resolution([init, agent], [])
    (named,) = found.sightings([agent])
    assert (named.actor.rank, named.actor.host, named.instant) == (5, "node-07", at("10:00:00"))
    (tagged,) = found.sightings([sighting("e", at("11:00:00"), source="b.log", actor=Actor(rank=3))])
    assert (tagged.actor, tagged.instant) == (ON_HOST, at("10:00:00"))


def test_job_of_the_caller_is_that_of_every_line_but_errors() -> None:
    """A job that the caller knows is the actor's job, whatever a line names."""
    found = resolution([], [], "job-9")
    line = sighting("e", at("10:00:00"), actor=Actor(rank=1, job="other"))
    assert [s.actor.job for s in found.sightings([line, line])] == ["job-9", "job-9"]
    assert found.activity(activity("a.log", [], actor=Actor(rank=1))).actor.job == "job-9"
    error = ErrorLine("t", Emitter("a.log"), 1, 0, 1, at("10:00:00"), Actor(rank=1), "text")
    assert found.error(error).actor.job is None


def test_runs_and_drops_move_with_their_host() -> None:
    """Runs of an emitter, and the span of what was dropped of it, are put back by its host's offset; those of no emitter stay."""
    spoke = activity("a.log", [("11:00:00", "11:00:05")], label="r3", actor=ON_HOST)
    lost = tuple(Dropped("e", label, 2, at("11:00:00")) for label in ("r3", None))
    found = resolution([], [spoke])
    moved = found.activity(spoke)
    assert moved.runs == ((at("10:00:00").lo, at("10:00:05").lo),)
    assert moved.frame == at("10:00:00", "10:00:05")
    losses = Losses([SourceCoverage("a.log", evicted=4, dropped=lost)], found.losses([moved]))
    assert losses.of("e") == {("a.log", "r3"): [at("10:00:00")], ("a.log", None): [at("11:00:00")]}
    assert not losses.of("other")


def test_attempts_are_counted_from_restarts() -> None:
    """Only lines of ranks and of the launcher in a file that shows a restart are of an attempt."""

    def seen(event: str, line: int, kind: Kind = "rank", source: str = "console.log", **fields: int) -> Sighting:
        return sighting(event, at("10:00:00"), source=source, line=line, kind=kind, **fields)

    restart = seen("denpex:lib.elastic#restarting", 5, "agent", left=1, all=3)
    lines = [seen("e", 1), restart, seen("e", 9), seen("e", 9, "kernel"), seen("e", 9, source="other.log")]
    assert [s.actor.attempt for s in in_attempts(lines)] == [2, 2, 3, None, None]
    assert in_attempts(lines[:1]) == lines[:1]


def test_restart_that_tells_no_number_starts_nothing() -> None:
    """More attempts left than there are is a misread line."""
    restart = sighting("denpex:lib.elastic#restarting", at("10:00:00"), kind="agent", left=9, all=3)
    assert in_attempts([restart])[0].actor.attempt is None
