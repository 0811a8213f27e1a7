"""Members of tar and zip files as sources, and what is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from denpex_rules import archives
from denpex_rules.packed import zstd
from denpex_rules.sighting import Actor
from denpex_rules.sources import Source, expand

FILES = {"rank_3.log": b"step 10\n" * 3, "node-07/var/log/kern.log": b"NVRM: Xid\n", "./deep/a.txt": b"x" * 100_000}


def tar(entries: dict[str, bytes], *links: tuple[str, str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_796_033_050
            archive.addfile(info, io.BytesIO(data))
        for name, target, kind in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)
    return out.getvalue()


def zipped(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return out.getvalue()


def sources(tmp_path: Path, data: bytes, name: str = "logs.tar") -> dict[str, Source]:
    (tmp_path / name).write_bytes(data)
    return {s.name: s for s in expand([tmp_path])}


def read(source: Source) -> bytes:
    return b"".join(source.open())


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, lzma.compress, bz2.compress, zstd.compress], ids=["tar", "gz", "xz", "bz2", "zst"]
)
def test_members_of_a_tar(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Each file inside is a source of its own, with the hints of its place and its own time; any order of reading works."""
    found = sources(tmp_path, pack(tar(FILES)), "logs.bin.tar.x")
    assert sorted(found) == [f"logs.bin.tar.x!{n}" for n in ("deep/a.txt", "node-07/var/log/kern.log", "rank_3.log")]
    for name, data in (*FILES.items(), *reversed(FILES.items())):
        source = found[f"logs.bin.tar.x!{name.removeprefix('./')}"]
        assert read(source) == data
        assert (source.truncated, source.notes, source.mtime_ns) == (False, [], 1_796_033_050_000_000_000)
    assert found["logs.bin.tar.x!rank_3.log"].hints.actor == Actor(rank=3)
    kernel = found["logs.bin.tar.x!node-07/var/log/kern.log"].hints
    assert (kernel.actor.host, kernel.kind, kernel.domain) == ("node-07", "kernel", "logs.bin.tar.x!node-07/var/log/kern.log")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_of_a_zip(tmp_path: Path, method: int) -> None:
    """A zip file is read member by member, whatever its members are packed with."""
    found = sources(tmp_path, zipped({"rank_3.log": b"step 10\n", "b/": b""}, method), "logs.zip")
    assert {n: read(s) for n, s in found.items()} == {"logs.zip!rank_3.log": b"step 10\n"}


def test_archive_may_be_named_after_its_host(tmp_path: Path) -> None:
    """The archive's name is a folder around its members; a packed member is unpacked."""
    found = sources(tmp_path, tar({"dmesg.gz": gzip.compress(b"x\n")}), "node-07.tar")
    (source,) = found.values()
    assert (source.hints.actor.host, source.hints.kind, read(source)) == ("node-07", "kernel", b"x\n")


def test_given_archive(tmp_path: Path) -> None:
    """An archive that is given by its path is read like one inside a folder."""
    (tmp_path / "a.tgz").write_bytes(gzip.compress(tar({"a.log": b"x\n"})))
    (source,) = expand([tmp_path / "a.tgz"])
    assert source.name == f"{tmp_path}/a.tgz!a.log"
    assert read(source) == b"x\n"


@pytest.mark.parametrize("name", ["../up.log", "a/../../up.log", "/etc/shadow.log", "C:\\logs\\a.log", "..\\up.log"])
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    """An absolute name or one with `..` is not read and says why; its neighbours are."""
    for data in (tar({name: b"x", "good.log": b"good\n"}), zipped({name: b"x", "good.log": b"good\n"})):
        found = list(sources(tmp_path, data).values())
        good, bad = sorted(found, key=lambda s: bool(s.notes))
        assert read(good) == b"good\n"
        assert (read(bad), bad.truncated) == (b"", True)
        assert "path" in bad.notes[0] or "leads out" in bad.notes[0]


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    """Links, fifos and devices inside an archive are named and not read."""
    links = (
        ("a", "/etc/passwd", tarfile.SYMTYPE),
        ("b", "x.log", tarfile.LNKTYPE),
        ("c", "", tarfile.FIFOTYPE),
        ("d", "", tarfile.CHRTYPE),
    )
    found = sources(tmp_path, tar({"x.log": b"x\n"}, *links))
    assert {n[-1] for n, s in found.items() if s.notes} == set("abcd")
    assert all(read(s) == b"" for s in found.values() if s.notes)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    (link,) = sources(tmp_path, out.getvalue()).values()
    assert (read(link), link.notes) == (b"", ["not read: a link; its target is read by its own name"])


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_bombs_are_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that unpacks to a multiple of its size is not read, with a clear word; what came before is."""
    monkeypatch.setattr(archives, "FREE", 1 << 20)
    files = {"a.log": b"first\n", "bomb.log": bytes(3 << 20)}
    data = gzip.compress(tar(files)) if kind == "tar" else zipped(files)
    found = sources(tmp_path, data, "logs")
    assert list(found) == ["logs!a.log", "logs"]
    assert "bomb" in found["logs"].notes[0]
    assert found["logs"].truncated


def test_bounds_of_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The members together may not be too large or too many."""
    monkeypatch.setattr(archives, "TOTAL", 1 << 10)
    assert "unpacks to more than" in sources(tmp_path, tar({"a.log": b"x" * 2000}))["logs.tar"].notes[0]
    monkeypatch.setattr(archives, "TOTAL", 1 << 30)
    monkeypatch.setattr(archives, "MEMBERS", 2)
    found = sources(tmp_path, tar({f"{n}.log": b"x" for n in range(4)}))
    assert len(found) == 3
    assert "more than 2 members" in found["logs.tar"].notes[0]


def test_overlapping_members_are_refused(tmp_path: Path) -> None:
    """A zip file whose members share their bytes is a bomb."""
    data = bytearray(zipped({"a.log": os.urandom(3000), "b.log": os.urandom(3000)}, zipfile.ZIP_STORED))
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    data[second + 20 : second + 24] = struct.pack("<I", 6000)
    (source,) = sources(tmp_path, bytes(data)).values()
    assert "overlap" in source.notes[0]


def test_encrypted_member_is_refused(tmp_path: Path) -> None:
    """A member that needs a password is named and lost."""
    data = bytearray(zipped({"a.log": b"x"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (source,) = sources(tmp_path, bytes(data)).values()
    assert (source.notes, source.truncated) == (["not read: it is encrypted"], True)


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_cut_archive_gives_what_came(tmp_path: Path, keep: float) -> None:
    """The members before the cut are read, the cut one in part, and a note says that bytes are missing."""
    whole = tar({f"{n}.log": os.urandom(50_000) for n in range(6)})
    packed = gzip.compress(whole)
    found = sources(tmp_path, packed[: int(len(packed) * keep)])
    got = {n: read(s) for n, s in found.items()}
    assert sum(map(len, got.values())) > len(whole) * (keep - 0.2)
    assert any(s.truncated for s in found.values())


@pytest.mark.parametrize(
    "start", [b"PK\x03\x04", bytes(257) + b"ustar\x0000" + bytes(247), gzip.compress(bytes(257) + b"ustar" + bytes(300))]
)
def test_damaged_archive_is_a_note(tmp_path: Path, start: bytes) -> None:
    """Garbage behind an archive's first bytes never raises."""
    for source in sources(tmp_path, start + os.urandom(2000)).values():
        assert len(read(source)) <= 3000


def test_header_that_claims_too_much(tmp_path: Path) -> None:
    """A header's length is believed up to a bound: nothing huge is read into memory."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 1 << 32
    (source,) = sources(tmp_path, info.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 16)).values()
    assert source.truncated
    assert "can't be read further" in source.notes[0]


def test_members_of_one_name(tmp_path: Path) -> None:
    """An archive that was appended to gives both members under names of their own."""
    first = tar({"a.log": b"old\n"})
    whole = first[:1024] + tar({"a.log": b"new\n"})
    found = sources(tmp_path, whole)
    assert {n: read(s) for n, s in found.items()} == {"logs.tar!a.log": b"old\n", "logs.tar!a.log#2": b"new\n"}


def test_archive_inside_another_is_named(tmp_path: Path) -> None:
    """Archives are opened one level deep; the inner one is lost and says so."""
    found = sources(tmp_path, tar({"in.tar.gz": gzip.compress(tar(FILES)), "in.zip": zipped(FILES)}))
    assert all(read(s) == b"" and s.truncated for s in found.values())
    assert all("inside another one" in s.notes[0] for s in found.values())


def test_junk_inside_is_not_read(tmp_path: Path) -> None:
    """What is no log by its name is none inside an archive either."""
    (source,) = sources(tmp_path, tar({"model.safetensors": b"x"})).values()
    assert source.notes == ["not read: .safetensors files are no logs"]
