"""Keys and episodes."""

from __future__ import annotations

from attrs import evolve
from making import at, sighting
from scenes import STALL, job, program

from denpex_rules.pool import episodes_of, pools
from denpex_rules.sighting import Actor

PER_RANK = STALL.replace("per job", "per rank")


def test_each_rank_is_a_key_of_its_own() -> None:
    """Sightings of two ranks never meet under `per rank`."""
    seen = [sighting("timeout", at("10:00:00"), source=f"r{r}.log", actor=Actor(rank=r), ran=1) for r in (0, 1)]
    (rule,) = program(PER_RANK).rules
    found = dict(pools(rule, job(seen)))
    assert list(found) == [(0,), (1,)]
    assert [s.actor.rank for s in found[1,].of("timeout")] == [1]


def test_trigger_without_the_key_stays_with_its_emitter() -> None:
    """A line of an unknown rank is matched only with lines of the same emitter."""
    seen = [sighting("timeout", at("10:00:00"), source=f"{n}.log", text=n, ran=1) for n in "ab"]
    (rule,) = program(PER_RANK).rules
    found = [pool.of("timeout") for _, pool in pools(rule, job(seen))]
    assert [len(lines) for lines in found] == [1, 1]


def test_line_without_a_job_belongs_to_every_job() -> None:
    """A kernel line takes part in each job that the rule's sightings name."""
    seen = [sighting("timeout", at("10:00:00"), source=f"{n}.log", actor=Actor(rank=0, job=n), ran=1) for n in "ab"]
    shared = sighting("timeout", at("10:00:01"), source="k.log", actor=Actor(host="node-01"), ran=1)
    (rule,) = program(STALL).rules
    found = dict(pools(rule, job([*seen, shared])))
    assert {key: len(pool.of("timeout")) for key, pool in found.items()} == {("a",): 2, ("b",): 2}


def test_quiet_time_starts_a_new_episode() -> None:
    """Triggers more than the quiet time apart are two episodes; each clock has its own."""
    (rule,) = program(STALL).rules
    first, second, third = (sighting("timeout", at(t), line=n) for n, t in enumerate(("10:00:00", "10:10:00", "10:20:01")))
    local = evolve(first, instant=evolve(first.instant, clock="local"))
    untimed = sighting("timeout", line=9)
    assert [len(e) for e in episodes_of(rule, (first, second, third))] == [2, 1]
    assert [len(e) for e in episodes_of(rule, (first, local, untimed))] == [1, 1, 1]


def test_look_up_by_field_keeps_what_is_unknown() -> None:
    """A join by index leaves out only sightings whose field is known and different."""
    seen = [sighting("timeout", at("10:00:00"), source=f"{n}.log", actor=Actor(rank=n), ran=1) for n in (0, 1, None)]
    (rule,) = program(STALL).rules
    ((_, pool),) = pools(rule, job(seen))
    assert [s.actor.rank for s in pool.where("timeout", "rank", 1)] == [1, None]


def test_attempts_are_matched_apart() -> None:
    """Where two attempts are named, each trigger meets its own and what names none; a trigger without one starts its own match."""
    seen = [sighting("timeout", at(f"10:00:0{n}"), source=f"a{n}.log", actor=Actor(rank=0, attempt=n), ran=1) for n in (0, 1)]
    shared = sighting("timeout", at("10:00:05"), source="c.log", actor=Actor(rank=0), ran=1)
    (rule,) = program(STALL).rules
    found = [(pool.triggers("timeout"), len(pool.of("timeout"))) for _, pool in pools(rule, job([*seen, shared]))]
    assert [([s.actor.attempt for s in triggers], takes_part) for triggers, takes_part in found] == [
        ([None], 3),
        ([0], 2),
        ([1], 2),
    ]


def test_one_attempt_is_no_split() -> None:
    """Where only one attempt is named, lines without one belong to it."""
    actors = (Actor(rank=0, attempt=0), Actor(rank=0))
    seen = [sighting("timeout", at("10:00:00"), source=f"{a.attempt}.log", actor=a, text=str(a), ran=1) for a in actors]
    (rule,) = program(STALL).rules
    ((_, pool),) = pools(rule, job(seen))
    assert len(pool.triggers("timeout")) == 2
