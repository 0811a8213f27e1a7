"""Every conformance vector, through the reference matcher and through the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

import engine_adapter
import reference
from case import Case, Outcome
from vector_cases import Vector, load_vectors

VECTORS = load_vectors()
MATCHERS: dict[str, Callable[[Case], Iterable[Outcome]]] = {"reference": reference.match, "engine": engine_adapter.run_engine}


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v.name)
def test_vector(vector: Vector, matcher: str) -> None:
    """A matcher gives the outcomes that the specification asks for."""
    assert vector.show(list(MATCHERS[matcher](vector.case))) == vector.show(list(vector.expect))


def test_vectors_cover_every_section() -> None:
    """Each section of the specification, and each numbered decision of matching and absence, has a vector."""
    covered = {v.spec for v in VECTORS}
    assert covered >= {"1", "3", "6", "7", "8", "9", "10"}
    assert covered >= {f"2.{i}" for i in range(1, 7)} | {f"4.{i}" for i in range(1, 9)} | {f"5.{i}" for i in range(1, 6)}


def test_names_are_unique() -> None:
    """Two vectors never share a name."""
    names = [v.name for v in VECTORS]
    assert sorted(set(names)) == sorted(names)
