"""Positions: offsets against lines and columns in every unit that editors count in."""

from __future__ import annotations

import pytest

from denpex_rules.positions import ENCODINGS, Encoding, Positions

TEXT = "aé\U0001f600b\r\nx\ry\u2028z\n\nend"


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_columns_are_counted_in_the_unit_of_the_editor(encoding: Encoding, column: int) -> None:
    """A character outside of ASCII is as wide as its unit says."""
    positions = Positions(TEXT, encoding)
    assert positions.place(TEXT.index("b")) == (0, column)
    assert positions.offset(0, column) == TEXT.index("b")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_offset_comes_back(encoding: Encoding) -> None:
    """An offset to a place and back is the same, but between the signs of a line's end."""
    positions = Positions(TEXT, encoding)
    for offset in range(len(TEXT) + 1):
        if TEXT[offset - 1 : offset + 1] != "\r\n":
            assert positions.offset(*positions.place(offset)) == offset


def test_only_the_ends_of_lines_end_lines() -> None:
    """A line ends with CRLF, LF or CR, and with no other separator."""
    positions = Positions(TEXT)
    assert positions.lines == 5
    assert positions.place(TEXT.index("z")) == (2, 2)


def test_places_outside_of_the_text() -> None:
    """What lies behind a line is its end, what lies behind the text is the text's end, and a half character is its start."""
    positions = Positions(TEXT)
    assert positions.offset(0, 99) == TEXT.index("\r\n")
    assert positions.offset(99, 3) == len(TEXT)
    assert positions.offset(0, 3) == TEXT.index("\U0001f600")
    assert positions.offset(1, -1) == TEXT.index("x")
    assert positions.place(999) == (4, 3)
    assert positions.place(-1) == (0, 0)
    assert Positions("").place(0) == (0, 0)
