"""Records being assembled: whole ones, and the texts that are shown of them."""

from __future__ import annotations

import copy

from denpex_rules.assembly import Piece, Speaker, Whole, shape, shown
from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.record import Line
from denpex_rules.retain import Gap, Marked
from denpex_rules.sighting import TEXT_LIMIT, Actor


def piece(text: bytes, number: int = 1, **more: object) -> Piece:
    line = Line(text, **more)  # type: ignore[arg-type]
    return Piece(line, text, number, 0, len(text), line.instant)


def test_a_record_is_as_severe_as_its_worst_line() -> None:
    """Text, rows, kind and severity are those of all lines together."""
    whole = Whole([piece(b"a", severity="info"), piece(b"bb", 2, severity="error", kind="rank"), piece(b"c", 3)])
    assert (whole.text, whole.severity, whole.starts) == (b"a\nbb\nc", "error", [0, 2, 5])
    assert [whole.row(offset) for offset in (0, 2, 4, 5)] == [0, 1, 1, 2]
    assert [whole.kind(row) for row in range(3)] == ["rank", "rank", "rank"]


def test_a_line_without_a_stamp_has_that_of_the_line_above_it_in_the_record() -> None:
    """Only a record without any stamp falls into the gap around it."""
    gap = Gap(None)
    below = piece(b"b", 2)
    below.when = gap
    assert Whole([piece(b"a", instant=Instant(5, 6)), below]).when(1) == Instant(5, 6)
    bare = piece(b"a")
    bare.when = gap
    assert Whole([bare]).when(0) is gap


def test_a_line_lacks_nothing_of_whom_the_first_one_speaks_for() -> None:
    """What the line says of itself counts more."""
    whole = Whole([piece(b"a", actor=Actor(rank=3, pid=7)), piece(b"b", 2, actor=Actor(rank=4))])
    assert whole.actor(0) is whole.pieces[0].line.actor
    assert whole.actor(1) == Actor(rank=4, pid=7)


def test_events_of_one_line_share_its_text() -> None:
    """Only a match far inside a line, or on another one of it, is shown by a text of its own."""
    whole = Whole([piece(b"a"), piece(b"b lost", 2), piece(b"x" * 5_000 + b"END", 3), piece(b"10 %\n20 %", 4)])
    assert whole.shown(1, whole.starts[1] + 2) is whole.shown(1, whole.starts[1]) == "b lost"
    assert [whole.shown(2, whole.starts[2] + at)[0] for at in (0, 500, 501, 5_000)] == ["x", "x", "…", "…"]
    assert [whole.shown(3, whole.starts[3] + at) for at in (0, 6)] == ["10 %", "20 %"]


def test_a_traceback_goes_with_the_warning_above_it() -> None:
    """Another head begins a record of its own."""
    speaker = Speaker("x")
    assert not speaker.begins(piece(b"a"))
    speaker.pieces = [piece(b"W", severity="warning", instant=Instant(5, 6))]
    assert not speaker.begins(piece(b"Traceback (most recent call last):", 2))
    assert speaker.begins(piece(b"next", 2))


def test_a_speaker_waits_until_a_stamp_of_its_clock_comes() -> None:
    """Lines without a stamp share one gap, which the next stamp closes."""
    speaker = Speaker("x")
    gap = speaker.when(UNKNOWN)
    assert speaker.waits
    assert speaker.when(UNKNOWN) is gap
    speaker.when(Instant(5, 6))
    assert not speaker.waits
    assert isinstance(gap, Gap)
    assert gap.instant().hi == 6


def test_a_copy_shares_what_never_changes() -> None:
    """A snapshot copies gaps, which close later; lines and marked lines are shared."""
    marked = Marked(b"x", 1, 0, Instant(5, 6), (1,))
    assert copy.deepcopy(marked) is marked
    one = piece(b"a")
    one.when = Gap(None)
    twin = copy.deepcopy(one)
    assert twin.line is one.line
    assert twin.when is not one.when


def test_shown_texts_are_one_line_and_short() -> None:
    """The line at the offset, with a far match brought near; invalid bytes are escaped."""
    assert shown(b"a\nbc\xff\nd", 3) == "bc\\xff"
    long = shown(b"x" * 5_000 + b"END", 5_000)
    assert long.startswith("…")
    assert len(long) <= TEXT_LIMIT
    assert shape("rank 3 at /a/b/c failed 0xdeadbeef") == "rank # at <path> failed #"
