"""What a scan keeps: gaps that close, bounded shelves, error records by shape."""

from __future__ import annotations

import copy
from collections import Counter

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules import retain
from denpex_rules.clock import MAX, MIN, SECOND, UNKNOWN, Instant
from denpex_rules.retain import OPEN_GAPS, Errors, Gap, Kept, Lost, Marked, More, Row, Shelf
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


def test_a_row_keeps_the_first_and_the_newest() -> None:
    """The first ones stay, the middle is dropped and counted, a smaller bound drops more."""
    row = Row(4, lookup=True)
    for i in range(10):
        row.add(Kept(sighting(i)))
    assert [k.item.line for k in row] == [0, 7, 8, 9]
    row.shrink(2)
    row.add(Kept(sighting(10)))
    assert [k.item.line for k in row] == [0, 10]
    assert (len(row), row.count) == (2, 9)


def test_a_decisive_row_keeps_as_many_of_the_first() -> None:
    """Of an event that decides, the first half stays; a smaller bound drops from the middle, one after the other or at once."""
    row, other = Row(8, lookup=False), Row(4, lookup=False)
    for i in range(12):
        row.add(Kept(sighting(i)))
        other.add(Kept(sighting(i)))
    assert [k.item.line for k in row] == [0, 1, 2, 3, 8, 9, 10, 11]
    row.shrink(4)
    assert [k.item.line for k in row] == [k.item.line for k in other] == [0, 1, 10, 11]
    assert row.count == other.count == 8


def test_a_row_that_is_not_full_loses_nothing() -> None:
    """A smaller bound that still holds all of them drops none, now and when the next ones come."""
    row = Row(8, lookup=False)
    for i in range(4):
        row.add(Kept(sighting(i)))
    row.shrink(4)
    assert ([k.item.line for k in row], row.count) == ([0, 1, 2, 3], 0)
    row.add(Kept(sighting(4)))
    assert ([k.item.line for k in row], row.count) == ([0, 1, 3, 4], 1)


def test_what_was_dropped_spans_their_instants() -> None:
    """The span holds all that were dropped; one without a time, or of another clock, makes it unknown."""
    row = Row(2, lookup=True)
    for i in range(6):
        row.add(Kept(evolve(sighting(i), instant=Instant(10 * i * SECOND, 10 * i * SECOND + 5))))
    assert (row.count, row.span) == (4, Instant(10 * SECOND, 41 * SECOND))
    for other in (BOOT, UNKNOWN):
        row = Row(2, lookup=True)
        for instant in (A, A, other, A, A):
            row.add(Kept(evolve(sighting(0), instant=instant)))
        assert (row.count, row.span) == (3, UNKNOWN)


def test_a_shelf_is_bounded_by_event_and_emitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each emitter keeps its own; what was dropped is told by event and emitter."""
    monkeypatch.setattr(retain, "PER_EMITTER", 4)
    shelf = Shelf(frozenset({"e"}))
    for i in range(20):
        shelf.add(Kept(sighting(i, str(i % 2))), "e", str(i % 2))
    assert sorted(k.item.line for _, _, row in shelf for k in row) == [0, 1, 14, 15, 16, 17, 18, 19]
    assert [(d.event, d.label, d.count) for d in shelf.dropped()] == [("e", "0", 6), ("e", "1", 6)]


def test_a_shelf_of_many_emitters_keeps_few_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """While there is room for two of each, each emitter keeps its first and its newest."""
    monkeypatch.setattr(retain, "PER_EMITTER", 100)
    monkeypatch.setattr(retain, "PER_SOURCE", 80)
    shelf = Shelf(frozenset({"e"}))
    for i in range(300):
        shelf.add(Kept(sighting(i, str(i % 30))), "e", str(i % 30))
    assert sorted(k.item.line for _, _, row in shelf for k in row) == [*range(30), *range(270, 300)]
    assert (shelf.kept, sum(d.count for d in shelf.dropped())) == (60, 240)


def test_a_shelf_has_no_more_rows_than_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sightings of emitters for which there is no row are counted as dropped of any emitter."""
    monkeypatch.setattr(retain, "EVENT_ROWS", 4)
    monkeypatch.setattr(retain, "LEAST_ROWS", 1)
    shelf = Shelf(frozenset())
    for i in range(100):
        shelf.add(Kept(sighting(i, str(i))), "e", str(i))
    assert sorted(k.item.line for _, _, row in shelf for k in row) == [0, 1, 2, 3]
    assert [(d.label, d.count) for d in shelf.dropped()] == [(None, 96)]


def test_no_event_is_left_without_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows the events before it took, some emitters of each event are kept."""
    monkeypatch.setattr(retain, "ROWS", 10)
    monkeypatch.setattr(retain, "LEAST_ROWS", 2)
    shelf = Shelf(frozenset())
    for event in ("many", "late"):
        for i in range(50):
            shelf.add(Kept(sighting(i, str(i))), event, str(i))
    assert Counter(event for event, _, row in shelf for _ in row) == {"many": 10, "late": 2}


def test_errors_count_by_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of a shape is kept and the others counted; new shapes beyond the bound are counted as dropped."""
    monkeypatch.setattr(retain, "SHAPES", 2)
    errors = Errors()
    for line, template in enumerate(["a", "b", "a", "c", "c", "a"]):
        if not errors.known(template, line):
            errors.add(Kept(error(template, line)))
    assert [(e.template, e.line, e.count) for e in errors] == [("a", 0, 3), ("b", 1, 1)]
    assert errors.dropped == 2
    errors.shrink(1)
    assert errors.known("b", 9)
    assert ([e.template for e in errors], errors.dropped) == (["a"], 4)


def marked(number: int) -> Marked:
    return Marked(b"x", number, number, Instant(number * SECOND, (number + 1) * SECOND), (0,))


@given(st.integers(0, 20), st.integers(0, 20), st.integers(2, 9), st.booleans())
def test_marks_that_were_collected_elsewhere(before: int, more: int, limit: int, lookup: bool) -> None:
    """A row that is handed the newest marks together, and what was dropped of them, is as if each had been added by itself."""
    one_by_one, together = Row(limit, lookup=lookup), Row(limit, lookup=lookup)
    marks = [marked(number) for number in range(before + more)]
    for mark in marks:
        one_by_one.add(mark)
    for mark in marks[:before]:
        together.add(mark)
    first, most, _ = together.room
    rest = marks[before:]
    front, rest = rest[:first], rest[first:]
    gone, kept = rest[: max(0, len(rest) - most)], rest[max(0, len(rest) - most) :]
    span = Instant(gone[0].instant.lo, gone[-1].instant.hi) if gone else None
    grown = together.extend(More([*front, *kept], len(gone), span))
    assert [*together] == [*one_by_one]
    assert (together.count, together.span) == (one_by_one.count, one_by_one.span)
    assert grown == len(together) - min(before, limit)


def test_more_marks_than_a_row_has_room_for_by_now() -> None:
    """The bound may have shrunk since they were collected: all that has no room is counted."""
    row = Row(4, lookup=False)
    for number in range(3):
        row.add(marked(number))
    row.shrink(2)
    assert row.extend(More([marked(number) for number in range(3, 8)])) == 0
    assert [mark.number for mark in row if isinstance(mark, Marked)] == [0, 7]
    assert row.count == 6


def test_marks_of_several_clocks_have_no_span() -> None:
    """What was dropped is then anywhere."""
    row = Row(2, lookup=True)
    for number in range(3):
        row.add(marked(number))
    row.extend(More([marked(9)], 2, UNKNOWN))
    assert (row.count, row.span) == (4, UNKNOWN)


def lying(number: int, gap: Gap) -> Marked:
    return Marked(b"x", number, number, UNKNOWN, (0,), gap=gap)


@given(st.lists(st.integers(0, 3), max_size=40), st.lists(st.booleans(), min_size=4, max_size=4), st.integers(1, 8))
def test_what_lies_in_a_gap_is_placed_when_the_gap_is_closed(places: list[int], closed: list[bool], limit: int) -> None:
    """Whether it was dropped before that or after it, alone or with others, and in a copy as well."""
    spans = []
    for late in (False, True):
        gaps = [Gap(Instant(n * 10 * SECOND, n * 10 * SECOND + 5)) for n in range(4)]
        for gap, closes in zip(gaps, closed, strict=True):
            if closes and not late:
                gap.close(Instant(gap.before.hi + 3 * SECOND, gap.before.hi + 4 * SECOND))
        row, together = Row(limit, lookup=True), Row(limit, lookup=True)
        marks = [lying(number, gaps[place]) for number, place in enumerate(places)]
        for mark in marks:
            row.add(mark)
        kept = [*marks[:1], *marks[1:][max(0, len(marks) - limit) :]]
        gone = [mark for mark in marks if mark not in kept]
        together.extend(More(kept, len(gone), None, tuple({id(m.gap): m.gap for m in gone}.values())))
        row, together = copy.deepcopy((row, together, gaps))[:2] if not late else (row, together)
        for gap, closes in zip(gaps, closed, strict=True):
            if closes and late:
                gap.close(Instant(gap.before.hi + 3 * SECOND, gap.before.hi + 4 * SECOND))
        assert (row.count, row.span) == (together.count, together.span)
        spans.append(row.span)
    assert spans[0] == spans[1]


def test_of_many_open_gaps_the_closed_ones_are_forgotten() -> None:
    """However many gaps what was dropped lay in, few are kept."""
    lost = Lost()
    gaps = [Gap(Instant(n * SECOND, n * SECOND)) for n in range(1_000)]
    for number, gap in enumerate(gaps):
        lost.add(lying(number, gap))
        gap.close(Instant(number * SECOND, number * SECOND + 5))
    assert len(lost._gaps) <= 2 * OPEN_GAPS
    assert (lost.count, lost.span) == (1_000, Instant(0, 1_000 * SECOND))


def test_errors_are_counted_by_their_shape() -> None:
    """Further records of a shape that is kept are counted together."""
    errors = Errors()
    assert errors.first("t") is None
    assert not errors.known("t", 3)
    errors.add(Kept(error("t", 3)))
    errors.count("t", 5)
    assert errors.first("t") == 3
    assert [e.count for e in errors] == [6]


def test_a_shelf_says_what_it_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much of each row, which is begun where there is none, and of all rows, as long as rows can still keep fewer."""
    monkeypatch.setattr(retain, "PER_SOURCE", 10)
    monkeypatch.setattr(retain, "LEAST_ROWS", 1)
    monkeypatch.setattr(retain, "EVENT_ROWS", 1)
    shelf = Shelf({"e"})
    assert shelf.rooms(["e", "f"], "a") == [(1, retain.PER_EMITTER - 1, 0), (1_000, 1_000, 0)]
    assert shelf.rooms(["g", "e", "h"], "b") == [(1_000, 1_000, 0)]
    assert not [kept for _, _, row in shelf for kept in row]
    shelf.add(marked(1), "e", "a")
    assert shelf.rooms(["e"], "a") == [(0, retain.PER_EMITTER - 1, 0)]
    assert shelf.quota == 9
    shelf.extend(More([marked(number) for number in range(2, 40)]), ["e"], "a")
    assert shelf.kept <= 10
    shelf.shrink(retain.FEWEST)
    assert shelf.quota > 10**9
