"""What the report says about what was read."""

from __future__ import annotations

from functools import cache

from denpex_rules import compile_rules, load_pack
from denpex_rules.engine import Options, scan_bytes
from denpex_rules.finding import ActorCoverage, CoverageReport, Unread, Who
from denpex_rules.ledger import UNREAD
from denpex_rules.program import Program
from layouts import Job, split


@cache
def pack() -> Program:
    """Return the shipped pack."""
    return compile_rules(load_pack())


def coverage(logs: dict[str, bytes], *, gaps: bool = False) -> CoverageReport:
    return scan_bytes(logs, pack(), Options(coverage=gaps)).coverage


def steps(minutes: range) -> bytes:
    return b"".join(b"2026-11-30T10:%02d:00Z INFO step %d\n" % (m, m) for m in minutes)


def actor(found: CoverageReport, rank: int) -> ActorCoverage:
    return next(a for a in found.actors if a.actor.rank == rank)


def test_who_is_silent_since_when() -> None:
    """A rank whose last line comes long before the others' is silent since then; the others are not."""
    found = coverage({"rank0.log": steps(range(30)), "rank1.log": steps(range(10))})
    assert (actor(found, 0).silent_since, actor(found, 1).silent_since) == (None, actor(found, 1).last)


def test_silence_needs_a_log_that_could_show_more() -> None:
    """Few lines, rare lines and a cut log prove no silence."""
    logs = {"rank0.log": steps(range(30)), "rank1.log": steps(range(3)), "rank2.log": steps(range(0, 20, 5))}
    found = coverage(logs)
    assert [actor(found, rank).silent_since for rank in (1, 2)] == [None, None]
    cut = coverage({"rank0.log": steps(range(30)), "rank1.log": steps(range(10)) + b"x" * (3 << 20) + b"\n"})
    assert (actor(cut, 1).truncated, actor(cut, 1).silent_since) == (True, None)


def test_gaps_only_when_asked_for() -> None:
    """Gaps are between the times at which an actor spoke."""
    logs = {"rank0.log": steps(range(2)) + steps(range(10, 12))}
    assert actor(coverage(logs), 0).gaps == ()
    assert "2026-11-30T10:10:00Z" in {gap.hi for gap in actor(coverage(logs, gaps=True), 0).gaps}


def test_whose_logs_are_not_there() -> None:
    """Ranks of the world without a log, and hosts without a kernel log, are named; with all logs there is none."""
    logs = split(Job(4, ("node-01", "node-02"), 1))
    assert coverage(logs).unread == ()
    del logs["rank3.log"], logs["kern_node-02.log"]
    found = coverage(logs)
    assert found.unread == (Unread(Who(3), "rank"), Unread(Who(host="node-02"), "kernel"))
    assert (found.world_size, found.unread_count) == (4, 2)


def test_many_missing_logs_are_counted() -> None:
    """The list is bounded, the count is not."""
    logs = split(Job(100, ("node-01",), 1))
    found = coverage({"rank0.log": logs["rank0.log"]})
    assert (len(found.unread), found.unread_count) == (UNREAD, 100)


def test_merged_repeats_are_said() -> None:
    """A log in which one line stands for others is marked."""
    text = "(RayTrainWorker pid=4242, ip=10.0.0.7) 2026-11-30 10:00:00,000 INFO step [repeated 7x across cluster]\n"
    found = coverage({"driver.log": text.encode() * 3})
    assert [a.merged for a in found.actors] == [True]
