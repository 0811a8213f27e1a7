"""What a scan keeps: gaps that close, bounded shelves, error records by shape."""

from __future__ import annotations

import copy

import pytest

from denpex_rules import retain
from denpex_rules.clock import MAX, MIN, UNKNOWN, Instant
from denpex_rules.retain import Errors, FirstAndNewest, Gap, Kept, Shelf
from denpex_rules.sighting import Actor, Emitter, ErrorLine, Sighting

A, B = Instant(10, 12), Instant(20, 25, "arrival")
BOOT = Instant(3, 3, "monotonic", "boot")


def sighting(line: int, label: str = "") -> Sighting:
    return Sighting("e", Emitter("a", label), 0, line, 0, 0)


def error(template: str, line: int) -> ErrorLine:
    return ErrorLine(template, Emitter("a"), line, 0, 0, UNKNOWN, Actor(), "text")


def test_a_gap_spans_the_stamps_around_it() -> None:
    """From the previous stamp's lo to the next one's hi; a missing side is open; stamps that run backwards span both."""
    gap = Gap(A)
    assert gap.instant() == Instant(10, MAX)
    assert not gap.close(BOOT)
    assert gap.close(B)
    assert gap.instant() == Instant(10, 25)
    first, backwards = Gap(None), Gap(B)
    assert first.instant() == UNKNOWN
    assert first.close(BOOT)
    assert backwards.close(A)
    assert first.instant() == Instant(MIN, 3, "monotonic", "boot")
    assert backwards.instant() == Instant(10, 25, "arrival")


def test_a_copy_keeps_the_gaps_that_are_shared() -> None:
    """Closing a gap in a copy fills in all that share it there, and nothing in the original."""
    gap = Gap(A)
    kept = [Kept(sighting(1), gap), Kept(sighting(2), gap), Kept(sighting(3))]
    twins, twin = copy.deepcopy((kept, gap))
    twin.close(B)
    assert [k.resolved().instant.hi for k in twins] == [25, 25, MAX]
    assert [k.resolved().instant.hi for k in kept] == [MAX, MAX, MAX]


def test_first_and_newest() -> None:
    """The first ones stay, the middle is dropped and counted, a smaller bound drops more."""
    row = FirstAndNewest(1, 3)
    for i in range(10):
        row.add(Kept(sighting(i)))
    assert [k.item.line for k in row] == [0, 7, 8, 9]
    row.shrink(1)
    row.add(Kept(sighting(10)))
    assert [k.item.line for k in row] == [0, 10]
    assert (len(row), row.dropped) == (2, 9)


def test_a_shelf_is_bounded_by_emitter_or_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up event keeps the first and newest of each emitter; another keeps the first and newest of all."""
    monkeypatch.setattr(retain, "PER_EMITTER", 3)
    monkeypatch.setattr(retain, "PER_SOURCE", 8)
    lookup, decisive = Shelf(lookup=True), Shelf(lookup=False)
    for i in range(20):
        for shelf in (lookup, decisive):
            shelf.add(Kept(sighting(i, str(i % 2))), str(i % 2))
    assert sorted(k.item.line for k in lookup) == [0, 1, 16, 17, 18, 19]
    assert [k.item.line for k in decisive] == [0, 1, 2, 3, 16, 17, 18, 19]
    assert (lookup.dropped, decisive.dropped) == (14, 12)


def test_a_shelf_of_many_emitters_keeps_few_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many emitters there are, each keeps its first and its newest."""
    monkeypatch.setattr(retain, "PER_EMITTER", 100)
    monkeypatch.setattr(retain, "PER_SOURCE", 20)
    shelf = Shelf(lookup=True)
    for i in range(300):
        shelf.add(Kept(sighting(i, str(i % 30))), str(i % 30))
    assert sorted(k.item.line for k in shelf) == [*range(30), *range(270, 300)]
    assert shelf.dropped == 240


def test_errors_count_by_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of a shape is kept and the others counted; new shapes beyond the bound are counted as dropped."""
    monkeypatch.setattr(retain, "SHAPES", 2)
    errors = Errors()
    for line, template in enumerate(["a", "b", "a", "c", "c", "a"]):
        if not errors.known(template):
            errors.add(Kept(error(template, line)))
    assert [(e.template, e.line, e.count) for e in errors] == [("a", 0, 3), ("b", 1, 1)]
    assert errors.dropped == 2
