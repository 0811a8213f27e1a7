"""Paths to sources: what is read, what its place claims, and what a broken file leaves behind."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_rules.errors import UsageError
from denpex_rules.places import hints_for
from denpex_rules.sighting import Actor
from denpex_rules.sources import CHUNK, Source, expand, from_bytes

RAY = "worker-" + "0a" * 28 + "-01000000-4242.err"


@pytest.mark.parametrize(
    ("path", "actor"),
    [
        ("rank_3.log", Actor(rank=3)),
        ("rank-3.err", Actor(rank=3)),
        ("logs/rank03", Actor(rank=3)),
        ("train_rank3_20261130.log", Actor(rank=3)),
        ("rank_3.log.2.gz", Actor(rank=3)),
        ("1/rank.03/stderr", Actor(rank=3)),
        ("node-07/rank_3.log", Actor(rank=3, host="node-07")),
        ("nemo_log_globalrank-11_localrank-3.txt", Actor(rank=11, local_rank=3)),
        ("local_rank_2.log", Actor(local_rank=2)),
        ("logs/log_12345_3.out", Actor(rank=3, job="12345")),
        ("12345_3_log.err", Actor(rank=3, job="12345")),
        ("run/job4711_ab12cd34/attempt_1/3/stderr.log", Actor(local_rank=3, job="job4711", attempt=1)),
        ("none_ab12cd34/attempt_0/3/stdout.log", Actor(local_rank=3, attempt=0)),
        ("attempt_0/3/stdout.log", Actor(local_rank=3, attempt=0)),
        ("node-07/none_ab12cd34/attempt_0/3/stdout.log", Actor(local_rank=3, host="node-07", attempt=0)),
        ("nccl.gpu-a01.4242.log", Actor(host="gpu-a01", pid=4242)),
        (f"ray/{RAY}", Actor(pid=4242)),
        ("py_train.gpu-a01.user.log.ERROR.20261130-123456.4242", Actor(host="gpu-a01", pid=4242)),
    ],
)
def test_place_of_one_process(path: str, actor: Actor) -> None:
    """A name that one process's file has gives its actor, and says that one process wrote it."""
    hints = hints_for(path)
    assert (hints.actor, hints.kind, hints.process) == (actor, "rank", True)


@pytest.mark.parametrize(
    ("path", "host", "kind"),
    [
        ("gpu-a02/var/log/kern.log", "gpu-a02", "kernel"),
        ("kern_node-02.log", "node-02", "kernel"),
        ("dmesg_node-02.txt", "node-02", "kernel"),
        ("node-02.dmesg", "node-02", "kernel"),
        ("node-02/dmesg.txt", "node-02", "kernel"),
        ("node-02/messages-20261130", "node-02", "kernel"),
        ("10.0.0.7/kern.log", "10.0.0.7", "kernel"),
        ("syslog.1", None, "kernel"),
        ("dmesg_T.log", None, "kernel"),
        ("slurmctld.log", None, "scheduler"),
        ("slurmd.node-02.log", "node-02", "scheduler"),
        ("fabricmanager.log", None, "fabric"),
        ("raylet.out", None, "control"),
        ("node-03_stderr.log", "node-03", None),
    ],
)
def test_place_of_a_host(path: str, host: str | None, kind: str | None) -> None:
    """Logs of a host name it in the file or the folder; many processes write them."""
    hints = hints_for(path)
    assert (hints.actor.host, hints.kind, hints.process) == (host, kind, False)


@pytest.mark.parametrize(
    "path",
    [
        "worker-7.err",
        "rank0-7.log",
        "nranks8.log",
        "gpu3.log",
        "node1.log",
        "master.log",
        "train.log",
        "3.log",
        "job_4711.x.11.err",
        "",
        "..",
        "frank3.log",
    ],
)
def test_place_that_claims_nobody(path: str) -> None:
    """An index, a range or a device's number is no rank and no host."""
    hints = hints_for(path)
    assert (hints.actor, hints.kind, hints.process) == (Actor(), None, False)


def test_slurm_job() -> None:
    """Slurm's default file name gives the job; what follows `_` is the array task, not a rank."""
    assert hints_for("slurm-4711.out").actor == Actor(job="4711")
    assert hints_for("slurm-4711_5.out").actor == Actor(job="4711_5")


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
