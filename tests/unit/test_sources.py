"""Paths to sources: what is read, and what a broken file leaves behind."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from denpex_rules.errors import UsageError
from denpex_rules.sighting import Actor, Part
from denpex_rules.sources import CHUNK, Source, expand, from_bytes, held_in
from layouts import tarred, zipped


def read(source: Source) -> bytes:
    return b"".join(source.open())


def test_folder_is_read_sorted(tmp_path: Path) -> None:
    """All files below a folder, by path, named by their path inside it."""
    for name in ("b.log", "a/z.log", "a/b/c.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    sources = expand([tmp_path])
    assert [s.name for s in sources] == ["a/b/c.log", "a/z.log", "b.log"]
    assert [read(s).decode() for s in sources] == ["a/b/c.log", "a/z.log", "b.log"]
    assert all(s.mtime_ns for s in sources)


def test_given_folder_may_name_the_host(tmp_path: Path) -> None:
    """The name of the folder that was given counts; names above it don't."""
    folder = tmp_path / "rank_9" / "node-07"
    folder.mkdir(parents=True)
    (folder / "dmesg.txt").write_text("x")
    assert expand([folder])[0].hints.actor == Actor(host="node-07")


def test_same_file_is_read_once(tmp_path: Path) -> None:
    """A file given twice, or beside its folder, is one source."""
    (tmp_path / "a.log").write_text("x")
    assert len(expand([tmp_path, tmp_path / "a.log", tmp_path])) == 1


def test_missing_path_is_the_callers_mistake(tmp_path: Path) -> None:
    """A path that is not there raises and is named."""
    with pytest.raises(UsageError, match=r"gone\.log"):
        expand([tmp_path / "gone.log"])
    with pytest.raises(UsageError):
        expand(["a\0b"])


def test_empty_folder(tmp_path: Path) -> None:
    """An empty folder gives no sources and no error."""
    assert expand([tmp_path]) == []


@pytest.mark.parametrize("name", ["model.safetensors", "shot.PNG", "error.json", "x.tfevents.1"])
def test_junk_is_named_and_not_read(tmp_path: Path, name: str) -> None:
    """What lies beside logs and is none gets a note and no bytes."""
    (tmp_path / name).write_bytes(b"x" * 10)
    (source,) = expand([tmp_path])
    assert read(source) == b""
    assert source.notes[0].startswith("not read: ")
    assert not source.truncated


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Links in a folder are noted: inside ones are read by their own name, outside ones are lost."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.log").write_text("secret")
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.log").write_text("a")
    (folder / "again.log").symlink_to(folder / "a.log")
    (folder / "out.log").symlink_to(outside / "secret.log")
    (folder / "outdir").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    found = {s.name: s for s in expand([folder])}
    assert read(found["a.log"]) == b"a"
    assert all(read(s) == b"" for n, s in found.items() if n != "a.log")
    assert {n for n, s in found.items() if s.truncated} == {"out.log", "outdir"}


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gz", "xz", "bz2"])
def test_packed_files_are_unpacked(pack: Callable[[bytes], bytes]) -> None:
    """Compression is told by the first bytes, not the suffix; chunks stay bounded."""
    data = b"".join(b"line %d\n" % n for n in range(200_000))
    source = from_bytes("rank_3.log", pack(data))
    chunks = list(source.open())
    assert b"".join(chunks) == data
    assert max(map(len, chunks)) <= CHUNK
    assert (source.truncated, source.notes) == (False, [])


def test_two_gzip_members() -> None:
    """A gzip file of several members is read to its end."""
    assert read(from_bytes("a.log", gzip.compress(b"one\n") + gzip.compress(b"two\n"))) == b"one\ntwo\n"


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gz", "xz", "bz2"])
def test_cut_packed_file_gives_what_came(pack: Callable[[bytes], bytes]) -> None:
    """A cut stream yields its first part, a note, and is marked as truncated."""
    data = os.urandom(2_200_000)
    packed = pack(data)
    source = from_bytes("a.log", packed[: len(packed) // 2])
    got = read(source)
    assert len(got) > 400_000
    assert data.startswith(got)
    assert source.truncated
    assert source.notes


def test_damaged_packed_file_ends_with_a_note() -> None:
    """Garbage behind a compression's first bytes is a note, never an exception."""
    for magic in (b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh9", b"\x28\xb5\x2f\xfd"):
        source = from_bytes("a.log", magic + os.urandom(5000))
        assert len(read(source)) < 5000
        assert source.truncated
        assert len(source.notes) == 1


def test_unreadable_file_is_a_note() -> None:
    """A file that may not be opened gives no bytes and says why."""

    def refuse() -> io.RawIOBase:
        raise PermissionError(13, "Permission denied")

    source = Source("a.log", opener=refuse)
    assert read(source) == b""
    assert source.truncated
    assert "Permission denied" in source.notes[0]


def test_file_that_vanishes_is_a_note(tmp_path: Path) -> None:
    """A file that is deleted between listing and reading gives no bytes and says why."""
    path = tmp_path / "a.log"
    path.write_text("x")
    (source,) = expand([path])
    path.unlink()
    assert read(source) == b""
    assert source.truncated


def test_utf16_is_transcoded() -> None:
    """A UTF-16 file with its mark is read as UTF-8, with a note about offsets."""
    source = from_bytes("a.log", "a €\nb\n".encode("utf-16"))
    assert read(source) == "a €\nb\n".encode()
    assert "UTF-16" in source.notes[0]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard input, once."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"step 10\n")))
    (source,) = expand(["-", "-"])
    assert (source.name, read(source)) == ("<stdin>", b"step 10\n")


def test_name_that_is_no_utf8(tmp_path: Path) -> None:
    """A file name of other bytes is shown escaped and read all the same."""
    path = os.fsencode(tmp_path) + b"/bad\xff.log"
    Path(os.fsdecode(path)).write_text("x")
    (source,) = expand([tmp_path])
    assert source.name == "bad\\xff.log"
    assert read(source) == b"x"


def test_pipe_is_read(tmp_path: Path) -> None:
    """A named pipe that is given by name is read; inside a folder it is skipped."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (source,) = expand([tmp_path])
    assert source.notes == ["not read: no regular file"]
    keep = os.open(pipe, os.O_RDWR)
    os.write(keep, b"step\n")
    (given,) = expand([pipe])
    stream = given.open()
    assert next(stream) == b"step\n"
    os.close(keep)
    stream.close()


# ------------------------------------------------------------------ streams, memory, rotated sets


@pytest.mark.parametrize("archive", ["logs.tar", "logs.zip"])
def test_archive_in_memory(archive: str) -> None:
    """The members of an archive in memory are sources with the hints of their place."""
    logs = {"node-07/rank_3.log": b"step 1\n", "../out.log": b"x"}
    data = (tarred(logs) if archive == "logs.tar" else zipped(logs))[archive]
    found = {s.name: s for s in held_in(archive, data)}
    assert read(found[f"{archive}!node-07/rank_3.log"]) == b"step 1\n"
    assert found[f"{archive}!node-07/rank_3.log"].hints.actor == Actor(rank=3, host="node-07")
    assert found[f"{archive}!../out.log"].notes == ["not read: its name leads out of the archive"]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_archive_in_a_pipe(tmp_path: Path, mode: Literal["w", "w:gz", "w:xz"]) -> None:
    """A tar archive that arrives in a stream is read member by member, in any order."""
    pipe, logs = tmp_path / "pipe", {"a.log": b"a\n" * 300_000, "b.log": b"b\n"}
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(tarred(logs, mode)["logs.tar"],))
    writer.start()
    found = expand([pipe])
    writer.join()
    assert {s.name.rpartition("!")[2]: read(s) for s in reversed(found)} == logs


def test_archive_in_a_stream_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger archive than what may be kept is refused with a word."""
    monkeypatch.setattr("denpex_rules.sources.SPOOL", 1000)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(tarred({"a.log": b"x" * 5000})["logs.tar"],))
    writer.start()
    (source,) = expand([pipe])
    writer.join()
    assert "save it to a file" in source.notes[0]
    assert source.truncated


def test_rotated_set_is_one_source(tmp_path: Path) -> None:
    """Parts whose stamps follow each other are read oldest first, and the source knows where each begins."""
    lines = [b"2026-11-30T10:%02d:00Z step\n" % minute for minute in range(6)]
    (tmp_path / "a.log.2.gz").write_bytes(gzip.compress(b"".join(lines[:2])))
    (tmp_path / "a.log.1").write_bytes(b"".join(lines[2:5]))
    (tmp_path / "a.log").write_bytes(lines[5])
    (source,) = expand([tmp_path])
    assert read(source) == b"".join(lines)
    size = len(lines[0])
    assert source.parts == [Part("a.log.2.gz", 0, 0), Part("a.log.1", 2, 2 * size), Part("a.log", 5, 5 * size)]
    assert source.notes == ["read as one log from its parts: a.log.2.gz, a.log.1, a.log"]


def test_cut_part_is_said(tmp_path: Path) -> None:
    """What is wrong with a part is said of the whole, with its name."""
    old = gzip.compress(b"".join(b"2026-11-30T10:%02d:%02dZ %d\n" % (n // 60, n % 60, n * n) for n in range(600)))
    (tmp_path / "a.log.1.gz").write_bytes(old[: len(old) // 2])
    (tmp_path / "a.log").write_bytes(b"2026-11-30T11:00:00Z step\n")
    (source,) = expand([tmp_path])
    read(source)
    assert source.truncated
    assert any(note.startswith("a.log.1.gz: reading ended early") for note in source.notes)


def test_files_of_one_time_stay_apart(tmp_path: Path) -> None:
    """Names alone join nothing: these may be ranks."""
    for name in ("out", "out.1", "out.2"):
        (tmp_path / name).write_bytes(b"2026-11-30T10:00:00Z a\n2026-11-30T10:05:00Z b\n")
    assert [s.name for s in expand([tmp_path])] == ["out", "out.1", "out.2"]
