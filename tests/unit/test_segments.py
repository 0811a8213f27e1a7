"""Files that are told again, whatever they are called."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from denpex_rules.segments import Segment, is_packed_file, is_whole

LINES = b"".join(b"2026-11-30T10:%02d:00Z step %d\n" % (n // 60, n) for n in range(200))


def segment(path: Path) -> Segment:
    """Return the segment of a file that was read to its end."""
    status = path.stat()
    made = Segment(path.name, status.st_dev, status.st_ino, path)
    for _ in made.more():
        pass
    return made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log."""
    path = tmp_path / "a.log"
    path.write_bytes(LINES)
    return path


def test_what_is_new_is_read(log: Path) -> None:
    """Only bytes behind those that were read come again."""
    one = segment(log)
    with log.open("ab") as file:
        file.write(b"more\n")
    assert one.goes_on()
    assert [text for _, text in one.more()] == [b"more\n"]
    assert one.read == len(LINES) + 5


def test_renamed_copied_and_packed(log: Path, tmp_path: Path) -> None:
    """A file is the same one under another name, as a copy, and packed; one with other first bytes is not."""
    one = segment(log)
    copy, packed, other = tmp_path / "copy", tmp_path / "a.log.1.gz", tmp_path / "other"
    copy.write_bytes(LINES)
    packed.write_bytes(gzip.compress(LINES))
    other.write_bytes(b"x" + LINES)
    moved = log.rename(tmp_path / "a.log.1")
    assert [one.is_in(p, p.stat()) for p in (moved, copy, packed, other)] == [True, True, True, False]


def test_mark_tells_a_file_in_another_run(log: Path) -> None:
    """What is written down is enough to know the file again, and stays until as much was read."""
    mark = segment(log).mark
    later = Segment("a.log", 0, 0, None, mark)
    assert later.is_in(log, log.stat())
    assert later.mark == mark


def test_written_anew(log: Path) -> None:
    """A file that was truncated and grew beyond what was read does not go on, even where its last bytes look alike."""
    one = segment(log)
    log.write_bytes(b"z" + LINES[1:] + b"more\n")
    assert not one.goes_on()


def test_nothing_read_is_told_by_its_inode(tmp_path: Path) -> None:
    """An empty file has no first bytes."""
    path = tmp_path / "a.log"
    path.touch()
    one = segment(path)
    path.write_bytes(b"text\n")
    copy = tmp_path / "copy"
    copy.write_bytes(b"text\n")
    assert one.is_in(path, path.stat())
    assert not one.is_in(copy, copy.stat())


def test_what_is_read_as_a_whole(tmp_path: Path) -> None:
    """Packed files and documents don't grow line by line."""
    for name, data in {"a": LINES, "b": gzip.compress(LINES), "c": b'[{"timestamp": 1, "message": "x"}]'}.items():
        (tmp_path / name).write_bytes(data)
    assert [is_whole(tmp_path / name) for name in "abcd"] == [False, True, True, False]
    assert [is_packed_file(tmp_path / name) for name in "abcd"] == [False, True, False, False]
