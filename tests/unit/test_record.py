"""Peeled lines and what the place of a source claims."""

from __future__ import annotations

import pytest
from attrs.exceptions import FrozenInstanceError

from denpex_rules.clock import UNKNOWN
from denpex_rules.record import NO_HINTS, Hints, Line
from denpex_rules.sighting import NOBODY, Actor


def test_a_bare_line_claims_nothing() -> None:
    """A line of which only the text is known starts a record, speaks for nobody, has no time and stands for itself alone."""
    line = Line(b"out of memory")
    assert (line.actor, line.instant, line.kind, line.severity) == (NOBODY, UNKNOWN, None, None)
    assert line.head
    assert line.repeats == 0


def test_no_hints_prove_nothing() -> None:
    """A source whose place tells nothing is not taken for one process."""
    assert Hints() == NO_HINTS
    assert not NO_HINTS.process
    assert NO_HINTS.actor == NOBODY


def test_lines_are_frozen() -> None:
    """A line can't be changed once it is read; equal lines are equal."""
    line = Line(b"x", actor=Actor(rank=3))
    assert line == Line(b"x", actor=Actor(rank=3))
    with pytest.raises(FrozenInstanceError):
        line.text = b"y"  # type: ignore[misc]
