"""Saved scans: equal after a round trip, readable when put together, refused when damaged."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from denpex_rules.clock import MAX, MIN, UNKNOWN, Instant
from denpex_rules.errors import UsageError
from denpex_rules.scanfile import load_scan, read_scan, save_scan, write_scan
from denpex_rules.sighting import Activity, Actor, Emitter, ErrorLine, Scan, Sighting, SourceCoverage

AT = Instant(5, 9, "arrival", "", year=False)
ONE = Sighting(
    "lib.x#died",
    Emitter("a é.log", "rank3"),
    4,
    7,
    100,
    150,
    AT,
    Actor(rank=3, host="node-07", pid=9),
    {"r": 3, "ratio": 0.5, "whole": 2.0, "text": "a\nb", "ranks": (1, 2)},
    "rank",
    "error",
    "\u001b[31m died",
)
SCAN = Scan(
    (ONE, Sighting("lib.x#died", Emitter("b"), 0, 1, 0, 5)),
    (
        SourceCoverage(
            "a é.log",
            "torchrun_tee > c10d",
            200,
            9,
            truncated=True,
            merged=1,
            evicted=2,
            notes=("evicted: lib.x#died",),
            activities=(Activity(Emitter("a é.log"), Actor(rank=3), None, 9, 1, 10**9, ((1, 2), (5, 9)), AT),),
            mtime=77,
        ),
    ),
    (ErrorLine("rank # died", Emitter("b"), 1, 0, 5, UNKNOWN, Actor(), "rank 3 died", 12),),
)


def written(scan: Scan) -> str:
    stream = io.StringIO()
    write_scan(scan, stream)
    return stream.getvalue()


def test_a_scan_comes_back_equal(tmp_path: Path) -> None:
    """Sightings, coverage and errors survive, with the types of their values."""
    save_scan(SCAN, tmp_path / "s.jsonl")
    back = load_scan(tmp_path / "s.jsonl")
    assert back == SCAN
    assert [type(v) for v in back.sightings[0].fields.values()] == [int, float, float, str, tuple]


def test_every_line_is_a_typed_object() -> None:
    """A file is a header, one object an item, and an end; all ASCII."""
    lines = [json.loads(line) for line in written(SCAN).splitlines()]
    assert [line["type"] for line in lines] == ["header", "source", "sighting", "sighting", "error", "end"]
    assert lines[0] == {"type": "header", "format": "denpex-scan", "version": 1}
    assert lines[-1]["items"] == 4
    assert written(SCAN).isascii()


def test_files_put_together_are_one_scan() -> None:
    """Sections of several files follow each other; blank lines don't matter."""
    other = Scan(sources=(SourceCoverage("c"),))
    assert read_scan(io.StringIO(written(SCAN) + "\n" + written(other))) == SCAN.merge(other)


_LINES = written(SCAN).splitlines(keepends=True)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "not a saved scan"),
        (["step 1\n"], "line 1: this is no line of a saved scan"),
        (["[]\n"], "line 1: this is no line"),
        (['{"type": "header", "format": "x"}\n'], "line 1: this is not a saved scan"),
        ([_LINES[0].replace("1", "2"), *_LINES[1:]], "version 2, this release reads 1"),
        (_LINES[1:], "line 1: no header"),
        (_LINES[:-1], "cut short"),
        ([*_LINES[:2], *_LINES[3:]], "line 5: 4 items were written, 3 are there"),
        ([*_LINES[:3], *_LINES], "line 4: the section above is cut short"),
        ([_LINES[0], _LINES[2].replace('"line":7', '"line":"x"'), *_LINES[1:]], "line 2: this sighting can't be read"),
        ([_LINES[0], _LINES[2].replace('"line":7,', ""), *_LINES[1:]], "line 2: this sighting can't be read"),
        ([_LINES[0], _LINES[2].replace('"line"', '"lime"'), *_LINES[1:]], "line 2: this sighting can't be read"),
        ([_LINES[0], '{"type": "verdict"}\n', *_LINES[1:]], "line 2: unknown type 'verdict'"),
        ([_LINES[0], _LINES[1][:50], "\n", *_LINES[2:]], "line 2: this is no line"),
    ],
)
def test_damage_is_refused(lines: list[str], words: str) -> None:
    """What is cut, changed, of another version or no scan at all is refused with the line and the reason."""
    with pytest.raises(UsageError, match=words):
        read_scan(lines)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """A missing file, a binary file and a folder that does not exist are refused by name."""
    (tmp_path / "bin").write_bytes(b"\xff\x00")
    for name in ("bin", "absent"):
        with pytest.raises(UsageError, match=name):
            load_scan(tmp_path / name)
    with pytest.raises(UsageError, match="nowhere"):
        save_scan(SCAN, tmp_path / "nowhere" / "s")


_TEXTS = st.text(max_size=8)
_INSTANTS = st.builds(
    Instant,
    st.one_of(st.just(MIN), st.integers(0, 10**18)),
    st.one_of(st.just(MAX), st.integers(0, 10**18)),
    st.sampled_from(["wall", "local", "monotonic", "arrival", "none"]),
    _TEXTS,
    st.booleans(),
)
_ACTORS = st.builds(
    Actor, rank=st.none() | st.integers(0, 9), host=st.none() | _TEXTS, device=st.none() | _TEXTS, pid=st.none() | st.integers(0, 9)
)
_VALUES = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), _TEXTS, st.lists(st.integers(0, 9), min_size=1).map(tuple)
)
_SIGHTINGS = st.builds(
    Sighting,
    _TEXTS,
    st.builds(Emitter, _TEXTS, _TEXTS),
    st.integers(0, 9),
    st.integers(1, 9),
    st.integers(0, 9),
    st.integers(0, 9),
    _INSTANTS,
    _ACTORS,
    st.dictionaries(_TEXTS, _VALUES, max_size=3),
    st.sampled_from([None, "rank", "kernel"]),
    st.sampled_from([None, "info", "fatal"]),
    _TEXTS,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_SIGHTINGS, max_size=5))
def test_any_sightings_come_back_equal(sightings: list[Sighting]) -> None:
    """Whatever a sighting holds survives a round trip."""
    scan = Scan(tuple(sightings))
    assert read_scan(io.StringIO(written(scan))) == scan
