"""What the lines of each clock say about what several hosts did together."""

from __future__ import annotations

from attrs import evolve
from making import at, sighting, timeline

from denpex_rules import anchors
from denpex_rules.clock import MAX, MIN, SECOND, Instant
from denpex_rules.sighting import Actor, Sighting

ONE = Actor(rank=1, host="node-01")


def step(number: int, when: str, *, line: int = 1, source: str = "r1.log", actor: Actor = ONE) -> Sighting:
    """Return a line about a step."""
    return sighting("step", at(when), source=source, line=line, actor=actor, step=number)


def numbers(*lines: Sighting) -> list[int]:
    """Return the steps of the only clock that lines tell of."""
    (host,) = anchors.hosts_of(timeline(list(lines), []), ["step"])
    return [number for _, _, number in sorted(host.steps)]


def test_a_step_spans_all_ranks_of_its_host() -> None:
    """The first and the last line of any rank of a host bound when it ended a step."""
    two = step(0, "10:00:02", source="r2.log", actor=Actor(rank=2, host="node-01"))
    (host,) = anchors.hosts_of(timeline([step(0, "10:00:01"), two], []), ["step"])
    (span,) = host.steps.values()
    assert (span.first, span.earliest, span.latest) == (at("10:00:01").lo, at("10:00:01").hi, at("10:00:02").lo)
    assert host.ranks == {1, 2}


def test_repeated_steps_don_t_count() -> None:
    """A step that one emitter counts twice, or that a host ends anew after a later one, is of more than one attempt."""
    assert numbers(step(0, "10:00:00"), step(1, "10:01:00", line=2), step(0, "10:02:00", line=3)) == [1]
    again = [step(n, f"10:1{n}:00", source="again.log") for n in range(2)]
    assert numbers(step(0, "10:00:00"), step(1, "10:01:00"), step(2, "10:02:00"), step(3, "10:03:00"), *again) == [3]


def test_the_last_steps_count() -> None:
    """Of a long job only the steps before its end are compared: what a clock did before doesn't matter."""
    lines = [evolve(step(n, "10:00:00", line=n), instant=at("10:00:00").shift(n * SECOND)) for n in range(anchors.LAST + 50)]
    assert numbers(*lines) == list(range(50, anchors.LAST + 50))


def test_what_has_no_host_or_time_doesn_t_count() -> None:
    """Lines of an unknown host, or of a time that is open on one side or counts from boot, tell nothing."""
    nowhere = step(0, "10:00:00", actor=Actor(rank=1))
    instants = (Instant(MIN, at("10:00:00").hi), Instant(at("10:00:00").lo, MAX), Instant(1, 2, "monotonic", "a"))
    untimed = [evolve(step(1, "10:00:00"), instant=i) for i in instants]
    assert list(anchors.hosts_of(timeline([nowhere, *untimed], []), ["step"])) == []


def test_kinds_of_stamps_are_clocks_apart() -> None:
    """What a collector stamped is not compared by the host's own clock."""
    arrived = evolve(step(1, "10:00:00"), instant=evolve(at("10:00:00"), clock="arrival"))
    found = anchors.hosts_of(timeline([step(0, "10:00:00"), arrived], []), ["step"])
    assert {host.key for host in found} == {("node-01", "wall"), ("node-01", "arrival")}


def test_hosts_beside_each_other_share_no_rank() -> None:
    """Ranks that are all known, and none on both hosts, are of one job; others may be of two."""
    one, two, same, unknown = (anchors.Host(("a", "wall"), set(ranks)) for ranks in ((0, 1), (2,), (1, 2), (None,)))
    assert one.beside(two)
    assert not one.beside(same)
    assert not one.beside(unknown)


def test_a_meeting_lasts_from_the_last_to_come_to_the_first_to_leave() -> None:
    """Of all ranks of a host the last to come and the first to leave bound when all were there."""
    lines = []
    for rank, came, left in ((1, "10:00:01", "10:00:05"), (2, "10:00:03", "10:00:04")):
        for line, (event, when) in enumerate(((anchors.COMES, came), (anchors.LEAVES, left))):
            lines.append(sighting(f"p:{event}", at(when), source=f"{rank}", line=line, actor=evolve(ONE, rank=rank), meeting="0xa"))
    (host,) = anchors.hosts_of(timeline(lines, []), ["step"])
    assert list(host.comes.values()) == [at("10:00:03").lo]
    assert list(host.leaves.values()) == [at("10:00:04").hi]


def test_a_round_begins_with_the_agent_s_last_attempt_to_join() -> None:
    """An agent that joins again before it learns what a round came to came when it joined last."""
    fields = {"round": 0, "address": "node-01", "port": 29500}
    where = {"source": "agent.log", "actor": Actor(host="node-01")}
    joins = [sighting(f"p:{anchors.JOINS}", at(f"10:00:0{n}"), line=n, **where) for n in (1, 2)]  # type: ignore[arg-type]
    joined = sighting(f"p:{anchors.JOINED}", at("10:00:09"), line=3, **where, **fields)  # type: ignore[arg-type]
    (host,) = anchors.hosts_of(timeline([*joins, joined], []), ["step"])
    assert list(host.comes.values()) == [at("10:00:02").lo]
    assert list(host.leaves.values()) == [at("10:00:09").hi]


def test_a_wait_began_before_its_report_by_as_long_as_it_lasted() -> None:
    """The report of a collective that timed out tells when the rank began to wait in it."""
    told = sighting("timeout", at("10:10:00", "10:10:01"), seq=8412, ran=600 * SECOND)
    assert anchors.wait_of(told) == (at("10:00:00").lo, at("10:00:01").lo)
    assert anchors.wait_of(sighting("timeout", at("10:10:00"), ran=600 * SECOND)) is None
