"""What advice is made of: what stands in a rule, and the shape of a piece of advice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from attrs import frozen

from denpex_rules.errors import Diagnostic, Patch, Span
from denpex_rules.rule import LookUp, Path, Rule, Step


@frozen
class Use:
    """A rule with the ids of the events and the names that stand in it; `proof` are the events that speak for it."""

    rule: Rule
    events: frozenset[str]
    proof: frozenset[str]
    names: frozenset[str]

    @classmethod
    def of(cls, rule: Rule) -> Use:
        """Return what stands in a rule."""
        held = tuple(parts(rule))
        events = frozenset(p.event for p in held if isinstance(p, Step | LookUp))
        proof = frozenset(step.event for step in rule.steps if step.verb in {"require", "confirm"})
        return cls(rule, events, proof, frozenset(p.name for p in held if isinstance(p, Path)))


def parts(value: Any) -> Iterator[Any]:
    """Yield a model object and all that it holds."""
    yield value
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif attrs.has(type(value)):
        for attribute in attrs.fields(type(value)):
            yield from parts(getattr(value, attribute.name))


def advice(code: str, message: str, span: Span, hint: str = "", patch: Patch | None = None) -> Diagnostic:
    """Return a piece of advice: a warning that keeps no rule from being used."""
    return Diagnostic(code, message, span, hint=hint, severity="warning", patch=patch)
