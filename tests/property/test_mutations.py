"""The vectors are not vacuous: every wrong turn that a matcher could take fails at least one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from attrs import evolve

import reference
from case import Case, Truth
from denpex_rules.rule import Count, Step
from denpex_rules.sighting import Activity
from reference import Indices, Scope
from vector_cases import Vector, load_vectors

VECTORS: Final = load_vectors()
REAL_COMPARE: Final = reference.compare
Mutation = tuple[str, Callable[..., object]]


def open_boundary(later: int, earlier: int) -> bool:
    return later > earlier


def newest_first(scope: Scope, step: Step, indices: Indices) -> Indices:
    return tuple(reversed(indices))


def only_the_first(indices: Indices, truth: Truth) -> list[tuple[Indices, Truth]]:
    return [((index,), truth) for index in indices[:1]]


def one_episode(scope: Scope, triggers: Indices, quiet: int) -> list[Indices]:
    return [triggers] if triggers else []


def every_sighting(scope: Scope, count: Count, indices: Indices) -> int:
    return len(list(indices))


def all_that_fits(scope: Scope, indices: Indices, trigger: int) -> Indices:
    return indices


def own_end(case: Case, activity: Activity) -> tuple[int, int] | None:
    return (activity.runs[0][0], activity.runs[-1][1]) if activity.runs else None


def endless(case: Case, activity: Activity) -> tuple[int, int] | None:
    return (activity.runs[0][0], 2**62) if activity.runs else None


def by_position(case: Case, indices: list[int]) -> Indices:
    return tuple(sorted(indices, key=lambda i: (case.sightings[i].source, case.sightings[i].ordinal)))


def false_if_nothing_fits(*_: object) -> Truth:
    return "false"


def never_absent(*_: object) -> Truth:
    return "undetermined"


def any_order(scope: Scope, step: Step, indices: Indices) -> Indices:
    return indices[:1]


# name: the function of the reference that is replaced, and what replaces it
MUTATIONS: Final[dict[str, Mutation]] = {
    "boundaries are open": ("reaches", open_boundary),
    "the newest candidate is kept": ("picked", newest_first),
    "skew is ignored": ("margin", lambda a, b, skew: 0),
    "skew applies within one host": ("margin", lambda a, b, skew: skew),
    "line order is ignored": ("same_line_order", lambda a, b: False),
    "line order counts across emitters": ("same_line_order", lambda a, b: None not in (a.ordinal, b.ordinal)),
    "coverage is ignored: what was not seen is absent": ("absence", false_if_nothing_fits),
    "absence is never proven": ("absence", never_absent),
    "a failed candidate does not yield to the next": ("tried", only_the_first),
    "guards are ignored": (
        "guards",
        lambda scope, bound: dict.fromkeys((s.name for s in scope.case.rule.steps if s.verb == "unless"), "true"),
    ),
    "the total span is ignored": ("within_span", lambda scope, bound: True),
    "counting steps ignore the span": ("near_trigger", all_that_fits),
    "attempts are ignored": ("taking_part", lambda case, pool, attempt: (tuple(pool), tuple(pool))),
    "a line without an attempt is of none": (
        "taking_part",
        lambda case, pool, attempt: (of := tuple(i for i in pool if attempt in {None, case.sightings[i].actor.attempt}), of),
    ),
    "copied lines count": ("without_copies", lambda case, indices: indices),
    "copied streams count": ("originals", lambda case: list(range(len(case.sightings)))),
    "there are no episodes": ("episodes", one_episode),
    "distinct counts every sighting": ("known_values", every_sighting),
    "a count's duration is ignored": (
        "certainly_enough",
        lambda scope, count, indices: reference.known_values(scope, count, indices) >= count.least,
    ),
    "a count that may fit is false": ("possibly_enough", lambda scope, count, indices: False),
    "a lone log ends at the end of time": ("extent", endless),
    "every log ends at its own last line": ("extent", own_end),
    "truncated sources prove absence": ("intact", lambda source: True),
    "dropped sightings are ignored": ("nothing_dropped", lambda case, event, source, activity, lo, hi: True),
    "dropped sightings spoil every window": ("nothing_dropped", lambda case, event, source, *rest: not source.evicted),
    "an untimed log covers what is timed": ("nothing_is_timed", lambda case: True),
    "an untimed collection proves nothing": ("nothing_is_timed", lambda case: False),
    "rivals are ignored": ("minimal", any_order),
    "every reaching trigger is a rival": ("comes_first", lambda scope, step, a, b: False),
    "position in a file decides the order": ("ordered", by_position),
    "unknown compares as unequal": (
        "compare",
        lambda operator, left, right: REAL_COMPARE(operator, "?" if left is None else left, right),
    ),
    "an unbound step is no matter": ("refers_to_unbound", lambda step, bound: False),
    "an emitter stands for nobody": ("speaker", lambda scope, condition, bound: None),
    "every emitter is one process": ("one_process", lambda case, emitter: True),
    "an unknown job is unknown": ("is_of_one_job", lambda case: False),
    "every job is the same": ("is_of_one_job", lambda case: True),
    "the longest gap does not matter": ("longest_gap", lambda before, floor: 0),
    "kernel logs of one host are many": ("whose", lambda activity: activity.emitter),
}
CONSTANTS: Final = {
    "silence without patience": ("PATIENCE", 1),
    "silence of few lines": ("MIN_LINES", 1),
    "no rivals kept": ("MAX_RIVALS", 1),
}


def failing(vectors: list[Vector]) -> list[str]:
    """Return the names of the vectors that the reference fails as it is now."""
    return [v.name for v in vectors if v.show(reference.match(v.case)) != v.show(list(v.expect))]


@pytest.mark.parametrize("name", MUTATIONS)
def test_vectors_catch_a_mutation(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference with one function replaced by a wrong one fails at least one vector."""
    function, wrong = MUTATIONS[name]
    monkeypatch.setattr(reference, function, wrong)
    assert failing(VECTORS)


@pytest.mark.parametrize("name", CONSTANTS)
def test_vectors_catch_a_wrong_constant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference with one wrong constant fails at least one vector."""
    constant, wrong = CONSTANTS[name]
    monkeypatch.setattr(reference, constant, wrong)
    assert failing(VECTORS)


def test_the_reference_as_it_is_fails_none() -> None:
    """Without a mutation every vector passes: what the others show is the mutation's doing."""
    assert failing(VECTORS) == []


def test_vectors_notice_merged_sources() -> None:
    """Without its count of merged repeats a source would prove silence: a vector depends on it."""
    cleared = [
        evolve(v, case=evolve(v.case, sources=tuple(evolve(s, merged=0) for s in v.case.sources)))
        for v in VECTORS
        if any(s.merged for s in v.case.sources)
    ]
    assert failing(cleared) == [v.name for v in cleared]
