"""Runs the engine on the cases that the reference matcher is given, and answers in the same shape."""

from __future__ import annotations

from attrs import evolve

from case import Case, Outcome, Truth
from denpex_rules.correlator import Match, match_rule
from denpex_rules.pool import KeyValue
from denpex_rules.rule import Call, Constant, Expression, Let, Path
from denpex_rules.sighting import Emitter
from denpex_rules.timeline import assemble, presence_of
from denpex_rules.topology import Topology
from denpex_rules.values import Value


def run_engine(case: Case) -> list[Outcome]:
    """Return what the engine says of each key and episode of a case."""
    activities = [a for source in case.sources for a in source.activities]
    topology = Topology(world_size=case.world_size)
    timeline = assemble(topology, case.skew, case.sightings, map(presence_of, activities), case.sources)
    rule = evolve(case.rule, lets=tuple(_given(let, case) for let in case.rule.lets))
    places = {id(s): i for i, s in enumerate(case.sightings)}
    return [_outcome(m, places) for m in match_rule(rule, case.events, timeline)]


def _given(let: Let, case: Case) -> Let:
    """Replace a call by the value that the case gives for it; an unknown value becomes a name that nothing defines."""
    if not isinstance(let.value, Call):
        return let
    value = case.lets.get(let.name)
    known: Expression = Path("<unknown>") if value is None else Constant(value, "rank")  # type: ignore[arg-type]
    return evolve(let, value=known)


def _outcome(match: Match, places: dict[int, int]) -> Outcome:
    if match.outcome == "quiet":
        return Outcome(_key(match.key), "quiet")
    bindings = {name: tuple(places[id(s)] for s in bound) for name, bound in match.bindings.items()}
    clauses: dict[str, Truth] = {c.step.name: c.truth.value for c in match.clauses}
    return Outcome(_key(match.key), match.outcome, bindings, clauses, len(match.rivals))


def _key(key: KeyValue) -> tuple[Value | None, ...]:
    return tuple(k for k in key if not isinstance(k, Emitter))  # type: ignore[misc]
