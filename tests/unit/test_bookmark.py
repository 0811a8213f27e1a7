"""The state of a followed scan on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve

from denpex_rules import bookmark
from denpex_rules.bookmark import Bookmark, Log, Mark
from denpex_rules.errors import UsageError
from denpex_rules.sighting import Emitter, Part, Scan, Sighting, SourceCoverage
from samples import report

STATE = Bookmark((Log("a.log", "/logs/a.log", (Mark("a.log.1", 1, 2, 3, "ab", 4),)),), report().incidents, ("0123",))
SCAN = Scan(
    (Sighting("x", Emitter("a.log"), 0, 1, 0, 10),), (SourceCoverage("a.log", parts=(Part("a.log.1", 0, 0), Part("a.log", 5, 50))),)
)


def test_round_trip(tmp_path: Path) -> None:
    """What is written is read back, and nothing else is left in the folder."""
    path = tmp_path / "state"
    bookmark.save(Bookmark(), bookmark.scan_text(Scan()), path)
    bookmark.save(STATE, bookmark.scan_text(SCAN), path)
    assert bookmark.load(path) == (STATE, SCAN)
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_no_file_is_a_beginning(tmp_path: Path) -> None:
    """Without a file there is nothing to go on from."""
    assert bookmark.load(tmp_path / "state") == (Bookmark(), Scan())


def test_half_a_file_leaves_the_whole_one(tmp_path: Path) -> None:
    """What a crash left beside the state is not read."""
    path = tmp_path / "state"
    bookmark.save(STATE, bookmark.scan_text(SCAN), path)
    (tmp_path / "state.new").write_text('{"format":')
    assert bookmark.load(path) == (STATE, SCAN)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not the state"),
        ("[1]\n", "not the state"),
        ('{"format": "other"}\n', "not the state"),
        ('{"format": "denpex-follow", "version": 99}\n', "version 99"),
        ('{"format": "denpex-follow", "version": 1, "logs": 5}\n', "damaged"),
        ('{"format": "denpex-follow", "version": 1}\n', "not a saved scan"),
        ("\u00e9\n", "not the state"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    """What is no state of this version is named, never taken for one."""
    path = tmp_path / "state"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=words):
        bookmark.load(path)


def test_what_can_not_be_written_or_read(tmp_path: Path) -> None:
    """A folder that is not there and a path that is a folder are the caller's mistakes."""
    with pytest.raises(UsageError, match="can't be written"):
        bookmark.save(STATE, "", tmp_path / "none" / "state")
    with pytest.raises(UsageError, match="can't be read"):
        bookmark.load(tmp_path)


def test_it_holds_data_only(tmp_path: Path) -> None:
    """Every line is JSON."""
    path = tmp_path / "state"
    bookmark.save(evolve(STATE, pending=()), bookmark.scan_text(SCAN), path)
    assert all(isinstance(json.loads(line), dict) for line in path.read_text().splitlines())
