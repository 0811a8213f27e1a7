"""Physical lines: cut at newlines only, with exact offsets, whatever the chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from denpex_rules import lines
from denpex_rules.lines import LineSplitter, PhysicalLine


def split(data: bytes, size: int) -> tuple[list[PhysicalLine], LineSplitter]:
    splitter = LineSplitter()
    found: list[PhysicalLine] = []
    for start in range(0, len(data), size):
        found += splitter.feed(data[start : start + size])
    return found + splitter.finish(), splitter


def test_lines_end_at_newlines_only() -> None:
    """A form feed, a NEL or a carriage return inside a line does not end it; one carriage return before the newline goes."""
    found, _ = split(b"a\x0cb\x85c\rd\r\r\n\n", 100)
    assert [line.data for line in found] == [b"a\x0cb\x85c\rd\r"]


def test_the_last_line_needs_no_newline() -> None:
    """What follows the last newline is a line; nothing is none."""
    assert [line.data for line in split(b"a\nb", 100)[0]] == [b"a", b"b"]
    assert [line.data for line in split(b"a\n", 100)[0]] == [b"a"]
    assert split(b"", 100)[0] == []


def test_nuls_at_the_ends_are_skipped_and_counted() -> None:
    """NUL bytes before and after the text of a line go, wherever chunks end; those inside stay."""
    for size in (1, 2, 100):
        found, splitter = split(b"\0\0a\0b\0\n\0\0\0", size)
        assert found == [PhysicalLine(1, 2, 6, b"a\0b"), PhysicalLine(2, 10, 10, b"")]
        assert splitter.nuls == 6


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\0", b"\n\n"]), max_size=40).map(b"".join), st.integers(1, 20))
def test_chunks_make_no_difference(data: bytes, size: int) -> None:
    """Any chunk size gives the same lines; they are those of a plain split that are not empty, where they stand."""
    found, splitter = split(data, size)
    assert found == split(data, max(1, len(data)))[0]
    plain = data.split(b"\n")
    plain = plain if plain[-1] else plain[:-1]
    stripped = {number: p.lstrip(b"\0").removesuffix(b"\r").rstrip(b"\0") for number, p in enumerate(plain, 1) if p}
    assert {line.number: line.data for line in found} == stripped
    assert all(data[line.start : line.end].startswith(line.data) for line in found)
    assert [line.number for line in found] == list(stripped)
    assert (splitter.bytes, splitter.lines) == (len(data), len(plain))


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_long_line_keeps_both_ends(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Beyond the limit the head and the tail are kept, and the line after it is whole."""
    monkeypatch.setattr(lines, "LINE_LIMIT", 10)
    monkeypatch.setattr(lines, "KEPT", 5)
    found, splitter = split(b"0123456789\n" + b"abcde" + b"-" * 100 + b"vwxyz\r\n" + b"next\n", size)
    assert found == [
        PhysicalLine(1, 0, 10, b"0123456789"),
        PhysicalLine(2, 11, 122, b"abcde", b"wxyz"),
        PhysicalLine(3, 123, 127, b"next"),
    ]
    assert splitter.cut == 1
