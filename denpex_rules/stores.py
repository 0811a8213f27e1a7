"""Bytes that are opened as streams: of a file, in memory, or of a stream whose first bytes were looked at already."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from attrs import frozen


@frozen(eq=False)
class Store:
    """The bytes of an archive, `size` of them, which can be opened more than once at a time."""

    open: Callable[[], io.BufferedReader]
    size: int


def at_path(path: Path) -> Store:
    """Return the bytes of a file by its path."""
    return Store(cast("Callable[[], io.BufferedReader]", partial(path.open, "rb")), path.stat().st_size)


def in_memory(data: bytes) -> Store:
    """Return bytes in memory."""
    return Store(lambda: io.BufferedReader(cast("io.RawIOBase", io.BytesIO(data))), len(data))


def of_open(file: io.RawIOBase) -> Store:
    """Return the bytes of an open regular file; it may be closed, its bytes stay as long as the store."""
    shared = _Shared(os.dup(file.fileno()))
    return Store(lambda: io.BufferedReader(_Positioned(shared)), os.fstat(shared.number).st_size)


class _Shared:
    """A descriptor that is closed with the last of those who use it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        """Close it."""
        os.close(self.number)


class _Positioned(io.RawIOBase):
    """A reader of a shared open file with a position of its own."""

    def __init__(self, file: _Shared) -> None:
        super().__init__()
        self._file, self._position = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to an offset from the start, from here or from the end."""
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: os.fstat(self._file.number).st_size}
        self._position = max(0, bases[whence] + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read the bytes at the position."""
        size = os.preadv(self._file.number, [buffer], self._position)
        self._position += size
        return size


def raw(data: bytes, rest: io.BufferedReader | None = None) -> io.RawIOBase:
    """Return bytes, and what follows them in a stream, as a raw stream."""
    head = io.BytesIO(data)
    return cast("io.RawIOBase", head) if rest is None else _Joined(head, rest)  # it has all that a raw stream needs


class _Joined(io.RawIOBase):
    """A stream whose first bytes were read already."""

    def __init__(self, head: io.BytesIO, rest: io.BufferedReader) -> None:
        super().__init__()
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        return self._head.readinto(buffer) or self._rest.readinto1(buffer)

    def close(self) -> None:
        """Close the stream."""
        self._rest.close()
        super().close()
