"""Segments: the files that a followed log consists of, told by their first bytes after they were renamed, copied or packed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import Factory, define

from denpex_rules import documents
from denpex_rules.bookmark import Mark
from denpex_rules.packed import DAMAGE, MAGIC, is_packed, unpacked
from denpex_rules.sources import Transcoder

KNOWN: Final = 1024  # first bytes that tell a file again
TAIL: Final = 64  # last bytes read, which tell whether a file was written anew
CHUNK: Final = 1 << 20

Status = os.stat_result


@define(eq=False)
class Segment:
    """One file of a log: which it is, how far it was read, where it is now (None: gone).

    `before` is what an earlier run read of it, while that is more than what this one read.
    """

    name: str
    device: int
    inode: int
    home: Path | None
    before: Mark | None = None
    read: int = 0  # bytes, unpacked
    mtime: int = 0
    _head: bytes = b""
    _tail: bytes = b""
    _transcoder: Transcoder = Factory(Transcoder)

    @property
    def mark(self) -> Mark:
        """The segment as it is written down."""
        if self.before is not None and self.before.read > self.read:
            return self.before
        return Mark(self.name, self.device, self.inode, len(self._head), _hash(self._head), self.read)

    def stays(self, path: Path, status: Status) -> bool:
        """Whether a file is where this segment was found before, and not shorter: no look at its bytes is needed."""
        return path == self.home and self.inode == status.st_ino and self.device == status.st_dev and status.st_size >= self.read

    def is_in(self, path: Path, status: Status) -> bool:
        """Whether a file is this segment, wherever it is: its first bytes are, or it is the same inode and nothing was read yet."""
        mark = self.mark
        if not mark.known:
            return (status.st_dev, status.st_ino) == (mark.device, mark.inode)
        start = _start(path, mark.known)
        return len(start) == mark.known and _hash(start) == mark.head

    def goes_on(self) -> bool:
        """Whether its file still has what was read of it first and last: it was not truncated and written anew."""
        assert self.home is not None
        try:
            with self.home.open("rb") as file:
                if file.read(len(self._head)) != self._head:
                    return False
                file.seek(self.read - len(self._tail))
                return file.read(len(self._tail)) == self._tail
        except OSError:
            return False

    def more(self) -> Iterator[tuple[int, bytes]]:
        """Yield what is new in its file: how many bytes, and their text. Raises what `packed.DAMAGE` names."""
        assert self.home is not None
        self.mtime = self.home.stat().st_mtime_ns
        for chunk in _chunks(self.home, self.read):
            self._head += chunk[: max(0, KNOWN - len(self._head))]
            self._tail = (self._tail + chunk[-TAIL:])[-TAIL:]
            self.read += len(chunk)
            yield len(chunk), self._transcoder.feed(chunk)


def is_packed_file(path: Path) -> bool:
    """Whether a file is compressed."""
    return is_packed(_first(path, MAGIC))


def is_whole(path: Path) -> bool:
    """Whether a file is one that does not grow line by line: it is compressed, or a document of records."""
    start = _first(path, documents.SNIFF)
    return is_packed(start) or documents.holds_records(start)


def _first(path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _start(path: Path, size: int) -> bytes:
    """Return the first bytes of a file, unpacked; fewer where it is shorter or damaged."""
    found = b""
    try:
        for chunk in _chunks(path, 0):
            found += chunk
            if len(found) >= size:
                break
    except DAMAGE:
        return found[:size]
    return found[:size]


def _chunks(path: Path, skip: int) -> Iterator[bytes]:
    """Yield the bytes of a file behind the first `skip`, unpacked, as far as it reaches now."""
    with path.open("rb") as raw:
        stream = unpacked(raw)
        if stream is raw:
            raw.seek(skip)
            left = os.fstat(raw.fileno()).st_size - skip
            while left > 0 and (chunk := raw.read(min(CHUNK, left))):
                left -= len(chunk)
                yield chunk
            return
        while chunk := stream.read1(CHUNK):
            if skip < len(chunk):
                yield chunk[skip:]
            skip = max(0, skip - len(chunk))
