"""What a stream in pieces stands for: unpacked, transcoded, archives refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest

from denpex_rules.intake import Intake
from denpex_rules.packed import zstd
from layouts import tarred, zipped

TEXT = b"2026-11-30T10:00:00Z step 1\n" * 50
NAMES = ["plain", "gz", "bz2", "xz", "zst"]


def taken(data: bytes, size: int) -> tuple[bytes, Intake]:
    intake = Intake()
    found = b"".join(b"".join(intake.feed(data[start : start + size])) for start in range(0, len(data), size))
    return found + b"".join(intake.finish()), intake


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd.compress], ids=NAMES)
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_any_compression_in_any_pieces(pack: Callable[[bytes], bytes], size: int) -> None:
    """Compressed or not, in pieces of any size, several streams behind each other: the same text."""
    found, intake = taken(pack(TEXT) + pack(b"end"), size)
    assert found == TEXT + b"end"
    assert (intake.notes, intake.truncated) == ((), False)


def test_utf_16_inside_of_gzip() -> None:
    """Both are undone, and the note says which offsets count."""
    found, intake = taken(gzip.compress("a €\n".encode("utf-16")), 3)
    assert found == "a €\n".encode()
    assert "UTF-16" in intake.notes[0]


def test_cut_stream_gives_what_came() -> None:
    """A compressed stream without its end gives its text so far, and says so."""
    packed = gzip.compress(bytes(range(256)) * 40)
    found, intake = taken(packed[: len(packed) // 2], 50)
    assert (bytes(range(256)) * 40).startswith(found)
    assert intake.truncated
    assert "cut" in intake.notes[0]


def test_damage_is_a_note() -> None:
    """Bytes that can't be unpacked end the stream with a note."""
    _, intake = taken(gzip.compress(TEXT)[:12] + b"\xff" * 100, 10)
    assert intake.truncated
    assert intake.notes[0].startswith("reading ended early")


@pytest.mark.parametrize(
    "data", [tarred({"a.log": TEXT})["logs.tar"], tarred({"a.log": TEXT}, "w:gz")["logs.tar"]], ids=["tar", "tar.gz"]
)
def test_archive_is_refused(data: bytes) -> None:
    """A tar archive, packed or not, gives no text and a word about it; its names and headers are no lines."""
    found, intake = taken(data, 100)
    assert found == b""
    assert intake.notes[0].startswith("not read: a tar archive")
    assert intake.truncated


def test_zip_is_refused() -> None:
    """So is a zip file."""
    found, intake = taken(zipped({"a.log": TEXT})["logs.zip"], 1000)
    assert found == b""
    assert "zip archive" in intake.notes[0]


def test_few_bytes_are_text() -> None:
    """What is too short to tell is text."""
    assert taken(b"BZ", 1)[0] == b"BZ"
    assert taken(b"x", 1)[0] == b"x"
    assert taken(b"", 1)[0] == b""
