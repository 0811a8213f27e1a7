"""The engine and the reference matcher agree on random rules and timelines, and the answer has the symmetries that it should."""

from __future__ import annotations

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine_adapter
import reference
import strategies
from case import Case, Outcome
from denpex_rules.clock import DAY, Instant
from denpex_rules.rule import Condition, Constant, Path
from denpex_rules.sighting import Activity, Actor

bounded = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


def comparable(outcomes: list[Outcome]) -> list[str]:
    """Return outcomes as texts in an order of their own, so that lists compare; of many sightings only the first has a place."""

    def shown(outcome: Outcome) -> str:
        held = {name: (h[0], sorted(h)) for name, h in sorted(outcome.bindings.items()) if h}
        return repr((outcome.key, outcome.outcome, held, sorted(outcome.clauses.items()), outcome.rivals))

    return sorted(map(shown, outcomes))


@bounded
@given(strategies.cases())
def test_engine_agrees_with_the_reference(case: Case) -> None:
    """Whatever the rule and the timeline, the engine says what the reference says."""
    assert comparable(engine_adapter.run_engine(case)) == comparable(reference.match(case))


@bounded
@given(strategies.cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(case: Case, random: object) -> None:
    """Shuffled sightings and sources give the same outcomes."""
    places = list(range(len(case.sightings)))
    random.shuffle(places)  # type: ignore[attr-defined]
    shuffled = evolve(case, sightings=tuple(case.sightings[i] for i in places), sources=case.sources[::-1])
    moved = [
        evolve(o, bindings={name: tuple(places[i] for i in held) for name, held in o.bindings.items()})
        for o in reference.match(shuffled)
    ]
    assert comparable(moved) == comparable(reference.match(case))


@bounded
@given(strategies.cases())
def test_a_day_later_nothing_else_changes(case: Case) -> None:
    """All times shifted together give the same outcomes."""

    def later(activity: Activity) -> Activity:
        return evolve(activity, runs=tuple((lo + DAY, hi + DAY) for lo, hi in activity.runs), frame=moved(activity.frame))

    def moved(instant: Instant) -> Instant:
        return instant.shift(DAY)

    shifted = evolve(
        case,
        sightings=tuple(evolve(s, instant=moved(s.instant)) for s in case.sightings),
        sources=tuple(evolve(s, activities=tuple(map(later, s.activities))) for s in case.sources),
    )
    assert comparable(reference.match(shifted)) == comparable(reference.match(case))


@bounded
@given(strategies.cases())
def test_renumbered_ranks_renumber_the_answer(case: Case) -> None:
    """Other rank numbers in the same order give the same outcomes with those numbers."""
    case = evolve(case, world_size=None)

    def number(rank: int | None) -> int | None:
        return None if rank is None else 2 * rank + 5

    def actor(a: Actor) -> Actor:
        return evolve(a, rank=number(a.rank))

    def condition(c: Condition) -> Condition:
        fixed = c.left == Path("rank") and isinstance(c.right, Constant)
        return evolve(c, right=Constant(number(c.right.value), "rank")) if fixed else c  # type: ignore[union-attr, arg-type]

    renumbered = evolve(
        case,
        rule=evolve(case.rule, steps=tuple(evolve(s, where=tuple(map(condition, s.where))) for s in case.rule.steps)),
        sightings=tuple(evolve(s, actor=actor(s.actor)) for s in case.sightings),
        sources=tuple(evolve(s, activities=tuple(evolve(a, actor=actor(a.actor)) for a in s.activities)) for s in case.sources),
    )
    expected = [
        evolve(o, key=tuple(number(v) if name == "rank" else v for name, v in zip(case.rule.keys, o.key, strict=True)))  # type: ignore[arg-type]
        for o in reference.match(case)
    ]
    assert comparable(reference.match(renumbered)) == comparable(expected)
