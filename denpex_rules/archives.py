"""Archives: the members of a tar (packed or not) or zip file as streams of their own. Nothing is ever written to disk.

Members are read in the archive's order. What an archive must not do (name a place outside itself, link, unpack to a multiple of
its size that no log has) is refused with a reason.
"""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from attrs import Factory, define, frozen

from denpex_rules.packed import DAMAGE, is_packed, unpacked
from denpex_rules.stores import Store

MEMBERS: Final = 100_000
TOTAL: Final = 1 << 36  # bytes of all members together
RATIO: Final = 200  # bytes of all members for one byte of the archive, once there are FREE
FREE: Final = 1 << 28
HEADER: Final = 1 << 22  # bytes of one header: a longer name is no name
BLOCK: Final = 512

_USTAR: Final = slice(257, 262)
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
# zipfile says NotImplementedError of a compression that it does not know, and RuntimeError of an encrypted member.
_BROKEN: Final = (*DAMAGE, tarfile.TarError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, OverflowError)
_SUFFIXES: Final = (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst", ".zip", ".gz", ".bz2", ".xz", ".zst")

Opener = Callable[[], io.RawIOBase]


@frozen
class Member:
    """One entry of an archive: how it is called inside, what opens it, or why it is not read.

    `lost` is true where something that may be a log is not read.
    """

    name: str
    opener: Opener | None = None
    mtime_ns: int | None = None
    refused: str = ""
    lost: bool = False


def kind_of(start: bytes) -> str:
    """Return `zip` or `tar` for the first BLOCK bytes of an archive (of a tar, unpacked), "" for other bytes."""
    if start.startswith(_ZIP):
        return "zip"
    return "tar" if start[_USTAR] == b"ustar" else ""


def sniff(path: Path) -> str:
    """Return which kind of archive a file is, "" for none and for a file that can't be read."""
    try:
        with path.open("rb") as raw:
            start = raw.peek(BLOCK)[:BLOCK]
            if is_packed(start):
                start = unpacked(raw).read1(BLOCK)
            return kind_of(start)
    except DAMAGE:
        return ""


def stem(name: str) -> str:
    """Return an archive's name without what says that it is one: a folder of that name may have been packed."""
    while name.lower().endswith(_SUFFIXES):
        name = name[: name.rindex(".")]
    return name


def members(store: Store, kind: str) -> list[Member]:
    """Return the members of an archive, and at the end why the rest is missing where it can't be read to its end."""
    found: list[Member] = []
    allowed = _Allowance(store.size)
    try:
        for member, size in _zip(store) if kind == "zip" else _tar(store):
            reason = allowed.refuses(size) if member.opener else ""
            if reason:
                found.append(Member("", refused=reason, lost=True))
                break
            found.append(member)
    except _BROKEN as error:
        found.append(Member("", refused=f"the archive can't be read further: {str(error) or type(error).__name__}", lost=True))
    return _unlike(found)


@define
class _Allowance:
    """How much an archive of `packed` bytes may hold."""

    packed: int
    total: int = 0
    count: int = 0

    def refuses(self, size: int) -> str:
        self.total += size
        self.count += 1
        if self.total > TOTAL:
            return f"the archive unpacks to more than {TOTAL >> 30} GiB"
        if self.total > max(FREE, RATIO * self.packed):
            return f"the archive unpacks to more than {RATIO} times its size: it may be a bomb"
        return f"the archive has more than {MEMBERS} members" if self.count > MEMBERS else ""


def _unlike(found: list[Member]) -> list[Member]:
    """Tell members of one name apart: an archive that was appended to has the older ones too."""
    seen: dict[str, int] = {}
    named = []
    for member in found:
        seen[member.name] = again = seen.get(member.name, 0) + 1
        name = member.name if again == 1 else f"{member.name}#{again}"
        named.append(Member(name, member.opener, member.mtime_ns, member.refused, member.lost))
    return named


def _misplaced(name: str) -> str:
    """Return why a name leads out of the archive, "" where it doesn't."""
    parts = name.replace("\\", "/").split("/")
    if parts[0] == "" or parts[0][1:2] == ":":
        return "its name is an absolute path"
    return "its name leads out of the archive" if ".." in parts else ""


# ------------------------------------------------------------------ tar


class _Guarded:
    """A stream for tarfile, which reads a header in one go however long it says to be."""

    def __init__(self, stream: Any) -> None:
        self.read_limited, self.seek, self.tell = stream.read, stream.seek, stream.tell

    def read(self, size: int) -> bytes:
        if size > HEADER:
            raise tarfile.ReadError("a header is too long")
        return cast("bytes", self.read_limited(size))


def _tar(store: Store) -> Iterator[tuple[Member, int]]:
    shared = _Shared(store)
    with store.open() as raw:
        guarded = _Guarded(unpacked(raw))
        with tarfile.open(fileobj=cast("Any", guarded), mode="r:") as archive:
            while (info := archive.next()) is not None:
                cast("Any", archive).members = []  # it would remember all of them
                member = _tar_member(info, shared)
                if member is not None:
                    yield member, info.size


def _tar_member(info: tarfile.TarInfo, shared: _Shared) -> Member | None:
    """Return a member, None for a folder."""
    name = info.name.removeprefix("./")
    misplaced = _misplaced(info.name)
    if info.isdir() and not misplaced:
        return None
    if misplaced:
        return Member(name, refused=misplaced, lost=True)
    if info.issym() or info.islnk():
        return Member(name, refused="a link; its target is read by its own name")
    if info.issparse() or not info.isreg():
        return Member(name, refused="no regular file", lost=info.issparse())
    when = int(info.mtime) * 1_000_000_000 if 0 < info.mtime < 1 << 32 else None
    return Member(name, partial(_Slice, shared, info.offset_data, info.size), when)


@frozen(eq=False)
class _Opened:
    """A file and the stream that unpacks it."""

    raw: io.BufferedReader
    stream: Any

    def close(self) -> None:
        self.stream.close()
        self.raw.close()


@define(eq=False)
class _Shared:
    """A packed file's unpacked stream, kept open between members: reading them in order unpacks the file once."""

    store: Store
    _free: list[_Opened] = Factory(list)

    def at(self, offset: int) -> _Opened:
        """Return a stream that stands at an offset; it is the caller's until it is given back."""
        opened = self._free.pop() if self._free else None
        if opened is not None and opened.stream.tell() > offset:
            opened.close()
            opened = None
        if opened is None:
            raw = self.store.open()
            opened = _Opened(raw, unpacked(raw))
        opened.stream.seek(offset)
        return opened

    def give_back(self, opened: _Opened) -> None:
        """Keep the stream for the next member."""
        if self._free:
            opened.close()
        else:
            self._free.append(opened)

    def __del__(self) -> None:
        """Close what was kept."""
        for opened in self._free:
            opened.close()


class _Slice(io.RawIOBase):
    """The bytes of one member of a tar file."""

    def __init__(self, shared: _Shared, offset: int, size: int) -> None:
        super().__init__()
        self._shared, self._opened, self._left = shared, shared.at(offset), size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes; raises EOFError where the archive ends inside the member."""
        if not self._left:
            return 0
        data = self._opened.stream.read1(min(len(buffer), self._left))
        if not data:
            raise EOFError("the archive ends inside this member")
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        """Give the shared stream back."""
        if not self.closed:
            self._shared.give_back(self._opened)
        super().close()


# ------------------------------------------------------------------ zip


def _zip(store: Store) -> Iterator[tuple[Member, int]]:
    with store.open() as raw, zipfile.ZipFile(raw) as archive:
        infos = archive.infolist()
    if sum(info.compress_size for info in infos) > store.size:
        raise zipfile.BadZipFile("members overlap: it may be a bomb")
    for info in infos:
        if not info.is_dir() or _misplaced(info.filename):
            yield _zip_member(info, store), info.file_size


def _zip_member(info: zipfile.ZipInfo, store: Store) -> Member:
    misplaced = _misplaced(info.filename)
    if misplaced:
        return Member(info.filename, refused=misplaced, lost=True)
    if stat.S_ISLNK(info.external_attr >> 16):
        return Member(info.filename, refused="a link; its target is read by its own name")
    if info.flag_bits & 1:
        return Member(info.filename, refused="it is encrypted", lost=True)
    return Member(info.filename, partial(_ZipSlice, store, info))


class _ZipSlice(io.RawIOBase):
    """The bytes of one member of a zip file, never more than its header says."""

    def __init__(self, store: Store, info: zipfile.ZipInfo) -> None:
        super().__init__()
        self._raw = store.open()
        try:
            self._archive = zipfile.ZipFile(self._raw)
            self._stream = self._archive.open(info)
        except _BROKEN as error:
            self._raw.close()
            raise OSError(str(error)) from error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes; raises OSError where they are damaged."""
        try:
            data = cast("io.BufferedReader", self._stream).read1(len(buffer))
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise OSError(str(error)) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the archive with its member."""
        if not self.closed:
            self._stream.close()
            self._archive.close()
            self._raw.close()
        super().close()
