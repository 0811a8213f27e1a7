"""Blindness to digits: an event that is said to be blind matches a line whatever its digits are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import template

from denpex_rules.digits import blind
from denpex_rules.pattern import compile_event
from denpex_rules.rule import Alternative, Event, Regex, Sequence


def event(*parts: str | Regex, captures: tuple[tuple[str, str], ...] = ()) -> Event:
    sequence = Sequence(tuple(p if isinstance(p, Regex) else template(p) for p in parts))
    return Event("e", "e", (Alternative((sequence,)),), captures=captures)


BLIND = [
    event("step {n:int} of {m:int}"),
    event("loss {x:float}"),
    event(Regex(r"(?:^|[ ,])step[ :=]+(?P<step>\d+)(?:/[0-9]+)?\b.*(?:loss|lr)$", (("step", "int"),))),
    event(Regex(r"[^T\n]{2,8}\w+\s?died")),
]
SEEING = [
    event("Xid {n:int} 79"),
    event("ranks {r:ranks}"),
    event("after {t:hms}"),
    event("rank {r:rank} and {r:rank}"),
    event(Regex(r"code [0-4]\d")),
    event(Regex(r"code [13]")),
    event(Regex(r"(?P<a>\d)(?P=a)")),
    event(Regex(r"port 80$")),
    event(Regex(r"[[:digit:]]+ x")),
]


@pytest.mark.parametrize("one", BLIND, ids=range(len(BLIND)))
def test_events_without_digits_of_their_own_are_blind(one: Event) -> None:
    """Fixed texts and classes that take all digits or none don't tell digits apart."""
    assert blind(one)


@pytest.mark.parametrize("one", SEEING, ids=range(len(SEEING)))
def test_events_that_digits_decide_are_not(one: Event) -> None:
    """A digit in a text or class, a bounded type, a repeated name, and whatever is not understood, count as seeing."""
    assert not blind(one)


LINES = st.sampled_from(["step 12 of 99", "loss 0.25", "x step: 7/9 lr", ", step 123 loss", "Xab1died", "step x", "loss 1e5"])


@given(LINES, st.data())
def test_a_blind_event_answers_alike_for_lines_that_differ_in_digits(line: str, data: st.DataObject) -> None:
    """Any other digits in the same places: the same answer."""
    other = "".join(data.draw(st.sampled_from("0123456789")) if c.isdigit() else c for c in line)
    for one in BLIND:
        pattern = compile_event(one)
        assert (pattern.match(line.encode()) is None) == (pattern.match(other.encode()) is None)
