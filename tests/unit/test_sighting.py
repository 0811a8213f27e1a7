"""Actors, sightings and scans."""

from __future__ import annotations

import pytest
from attrs import evolve, fields
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.sighting import NOBODY, Activity, Actor, Draft, Emitter, ErrorLine, Scan, Sighting, SourceCoverage, by_line, made

ACTORS = st.builds(
    Actor,
    rank=st.none() | st.integers(0, 3),
    host=st.none() | st.sampled_from(["node-01", "node-02"]),
    device=st.none() | st.just("0000:41:00"),
    job=st.none() | st.just("4711"),
)


@given(ACTORS, ACTORS)
def test_merge_keeps_what_is_known(mine: Actor, theirs: Actor) -> None:
    """Merging fills unknown parts and changes no known one."""
    merged = mine.merge(theirs)
    for part in (a.name for a in fields(Actor)):
        own, other = getattr(mine, part), getattr(theirs, part)
        assert getattr(merged, part) == (other if own is None else own)


@given(ACTORS)
def test_nobody_is_neutral(actor: Actor) -> None:
    """Merging with nobody changes nothing, in both directions."""
    assert actor.merge(NOBODY) == actor == NOBODY.merge(actor)


def test_rank_zero_is_known() -> None:
    """Rank 0 and local rank 0 are ranks, not unknown."""
    assert Actor(rank=0, local_rank=0).merge(Actor(rank=5, local_rank=1)) == Actor(rank=0, local_rank=0)
    assert Actor(rank=0).label() == "rank 0"


@pytest.mark.parametrize(
    ("actor", "label"),
    [
        (Actor(rank=5, host="node-02", device="0000:41:00", pid=7), "rank 5, host node-02, device 0000:41:00"),
        (Actor(local_rank=1, host="node-02"), "local rank 1, host node-02"),
        (Actor(rank=5, local_rank=1), "rank 5"),
        (Actor(pid=4242), "pid 4242"),
        (NOBODY, "unknown"),
    ],
)
def test_label(actor: Actor, label: str) -> None:
    """An actor is named by rank, host and device, by its pid only where nothing else is known."""
    assert actor.label() == label


def test_scans_merge() -> None:
    """Two scans of different sources become one that holds all of both."""
    emitters = [Emitter("rank0.log"), Emitter("rank1.log")]
    scans = [
        Scan(
            (Sighting("e", emitter, 0, 1, 0, 4),),
            (SourceCoverage(emitter.source),),
            (ErrorLine("t", emitter, 1, 0, 4, UNKNOWN, NOBODY, "text"),),
        )
        for emitter in emitters
    ]
    merged = scans[0].merge(scans[1])
    assert [s.source for s in merged.sightings] == ["rank0.log", "rank1.log"]
    assert [s.source for s in merged.sources] == ["rank0.log", "rank1.log"]
    assert len(merged.errors) == 2
    assert Scan().merge(scans[0]) == scans[0]


def test_sightings_are_frozen() -> None:
    """A sighting can't be changed once it is made."""
    one = Sighting("e", Emitter("a"), 0, 1, 0, 4)
    for frozen in (one, made(Draft("e", Emitter("a"), 0, 1, 0, 4)), one.placed(UNKNOWN, NOBODY)):
        with pytest.raises(FrozenInstanceError):
            frozen.line = 2  # type: ignore[misc]


def test_sightings_are_made_of_others() -> None:
    """A draft becomes one; with who and when resolved all else stays."""
    one = Sighting("e", Emitter("a"), 0, 1, 0, 4, UNKNOWN, NOBODY, {"n": 3}, "rank", "error", "text")
    assert made(Draft("e", Emitter("a"), 0, 1, 0, 4, UNKNOWN, NOBODY, {"n": 3}, "rank", "error", "text")) == one
    instant, actor = Instant(5, 6), Actor(rank=3)
    assert one.placed(instant, actor) == evolve(one, instant=instant, actor=actor)
    spoke = Activity(Emitter("a"), NOBODY, "rank", 3, 1, 1, ((1, 2),), UNKNOWN)
    assert spoke.placed(instant, actor, ((7, 8),)) == evolve(spoke, frame=instant, actor=actor, runs=((7, 8),))


def test_sightings_of_one_line_come_together() -> None:
    """What they have in common is one object; others of the same value, and what stands apart, come by themselves."""
    one = Sighting("e", Emitter("a"), 0, 1, 0, 4, Instant(5, 6), Actor(rank=3))
    also, apart = evolve(one, event="f"), one.placed(Instant(5, 6), one.actor)
    assert [*by_line([one, also, apart, one])] == [[one, also], [apart], [one]]
    assert [*by_line([])] == []
