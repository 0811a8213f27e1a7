"""Missing facts and who can't be cleared."""

from __future__ import annotations

from attrs import evolve
from making import activity, at
from scenes import LOST, STALL, job, job_activities, job_sightings, nodes, program

from denpex_rules.blame import Lack
from denpex_rules.missing import Context, facts, missing_fact, uncleared
from denpex_rules.sighting import Actor
from denpex_rules.timeline import Need


def test_commands() -> None:
    """Each kind of log has a command of its own, with host and interval; what is not known stays a placeholder."""
    lo, hi = at("10:00:00").lo, at("10:10:00").lo
    kernel = missing_fact(Lack(Need("kernel", host="node-02", lo=lo, hi=hi), "why"))
    expected = "ssh node-02 journalctl -k -o short-iso-precise --utc --since '2026-11-30 10:00:00' --until '2026-11-30 10:10:00'"
    assert (kernel.command, kernel.why) == (expected, "why")
    assert missing_fact(Lack(Need("fabric"), "")).command == "ssh <host> cat /var/log/fabricmanager.log"
    assert "rank 3" in missing_fact(Lack(Need("rank", rank=3), "")).command
    assert "the ranks that are not in the scan" in missing_fact(Lack(Need("rank"), "")).command


def test_each_log_is_asked_for_once() -> None:
    """Two lacks of one log are one fact, over the interval that both name."""
    made, line = program(STALL), job([s for s in job_sightings() if s.event != "lost"])
    (node,) = nodes(made, line)
    lo, hi = at("10:00:00").lo, at("10:10:00").lo
    lacks = (
        Lack(Need("rank", rank=9), "first"),
        Lack(Need("rank", rank=9, lo=lo, hi=hi), "second"),
        Lack(Need(None, rank=9, lo=lo - 1, hi=lo), "third"),
    )
    node.finding = evolve(node.finding, lacks=lacks)
    found = facts(node, Context(made, line), root=False)
    assert [(fact.why, fact.fact.startswith("the log of rank 9 from 2026-11-30T09:59:59")) for fact in found] == [("first", True)]


def test_unread_ranks_remain() -> None:
    """Of an unexplained timeout the ranks that did not report and were not read remain; those that reported do not."""
    read = [a for a in job_activities() if a.actor.rank != 3 and a.kind == "rank"]
    made, line = program(STALL), job([s for s in job_sightings() if s.event != "lost"], read)
    (node,) = nodes(made, line)
    assert [(s.rank, s.certainty) for s in uncleared(node.finding, Context(made, line))] == [(3, "undecided")]


def test_hosts_without_a_kernel_log_remain_where_all_ranks_were_read() -> None:
    """When no rank stands out, the kernel logs that are missing decide."""
    made, line = program(STALL), job([s for s in job_sightings() if s.event != "lost"], job_activities()[:4])
    (node,) = nodes(made, line)
    assert [s.host for s in uncleared(node.finding, Context(made, line))] == ["node-01", "node-02"]
    kernel = activity("kern2.log", [("10:00:00", "11:00:00")], actor=Actor(host="node-02"), kind="kernel")
    line = job([s for s in job_sightings() if s.event != "lost"], [*job_activities()[:4], kernel])
    assert [s.host for s in uncleared(node.finding, Context(made, line))] == ["node-01"]


def test_causes_leave_nobody_open() -> None:
    """A cause accuses by itself or nobody; it adds no candidates for what was not read."""
    made, line = program(LOST), job([s for s in job_sightings() if s.event != "init"])
    (node,) = nodes(made, line)
    assert uncleared(node.finding, Context(made, line)) == ()


def test_whom_a_launcher_names_remains() -> None:
    """A rank that a launcher's line is about remains possible, before those whose logs were not read."""
    seen = [evolve(s, kind="agent") if s.event == "timeout" and s.actor.rank == 1 else s for s in job_sightings()]
    seen = [s for s in seen if s.event != "lost" and (s.event != "timeout" or s.actor.rank == 1)]
    read = [a for a in job_activities() if a.actor.rank != 3 and a.kind == "rank"]
    made, line = program(STALL), job(seen, read)
    (node,) = nodes(made, line)
    found = uncleared(node.finding, Context(made, line))
    assert [s.rank for s in found] == [1, 3]
    assert "a launcher's line names it" in found[0].reasons[0]
