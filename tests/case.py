"""What the two matchers are given, and what they answer: the common shape of every comparison in the tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

from denpex_rules.clock import SECOND
from denpex_rules.rule import Event, Rule
from denpex_rules.sighting import Sighting, SourceCoverage
from denpex_rules.values import Value

Truth = Literal["true", "false", "undetermined"]
Verdict = Literal["confirmed", "inconclusive", "quiet"]


@frozen
class Case:
    """One rule and everything that was read. `lets` gives the value (None: unknown) of every `let` that calls a function."""

    rule: Rule
    events: Mapping[str, Event]
    sightings: tuple[Sighting, ...]
    sources: tuple[SourceCoverage, ...] = ()
    world_size: int | None = None
    skew: int = 5 * SECOND
    lets: Mapping[str, Value | None] = field(factory=dict)


@frozen
class Outcome:
    """What one rule says about one key and episode.

    `bindings` gives the sightings of each bound step as indices into `Case.sightings`; `clauses` the truth of every step;
    `rivals` how many other triggers may have been the first. A quiet outcome has neither bindings nor clauses.
    """

    key: tuple[Value | None, ...]
    outcome: Verdict
    bindings: Mapping[str, tuple[int, ...]] = field(factory=dict)
    clauses: Mapping[str, Truth] = field(factory=dict)
    rivals: int = 0
