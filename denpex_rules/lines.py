"""Physical lines of a byte stream that arrives in chunks: bounded memory, exact offsets, the same lines for any chunks."""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

LINE_LIMIT: Final = 1 << 20  # bytes; of a longer line the head and the tail are kept
KEPT: Final = LINE_LIMIT // 2  # bytes of each of them

_TEXT: Final = re.compile(rb"[^\n]+")
_CARE: Final = b"\r\0"  # at the end of a line they are no part of it


@frozen
class PhysicalLine:
    """One line of the stream, without its line end and without NUL bytes at its ends.

    `number` counts from 1; [start, end) is its byte range, without skipped NUL bytes in front. `tail` is the end of a line
    that was too long to keep; the bytes between `data` and `tail` are lost.
    """

    number: int
    start: int
    end: int
    data: bytes
    tail: bytes = b""


class LineSplitter:
    """Cuts chunks into lines at newlines only: a carriage return inside a line is part of it.

    A run of NUL bytes at the start of a line is skipped however long it is: it is the hole that is left when a log is
    truncated while its writer goes on.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.lines = 0
        self.nuls = 0  # skipped
        self.cut = 0  # lines that were too long
        self._start = 0  # of the unfinished line, behind its NULs
        self._begun = False
        self._length = 0
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, chunk: bytes) -> list[PhysicalLine]:
        """Return the lines that this chunk completes. Empty ones are counted and left out: a log may hold nothing else."""
        found: list[PhysicalLine] = []
        position = 0
        for text in _TEXT.finditer(chunk):
            start, end = text.span()
            self._ends(start - position, found)
            whole = end < len(chunk) and not self._begun and end - start <= LINE_LIMIT
            if whole and chunk[start] and chunk[end - 1] not in _CARE:  # the common case: there is nothing to put together
                self.lines += 1
                found.append(PhysicalLine(self.lines, self.bytes, self.bytes + end - start, text[0]))
                self.bytes += end - start + 1
                self._start, position = self.bytes, end + 1
            else:
                self._extend(text[0])
                position = end
        self._ends(len(chunk) - position, found)
        return found

    @property
    def begun(self) -> bool:
        """Whether the first bytes of a line were fed, and not yet its end."""
        return self._begun

    def skip(self, lines: int, size: int) -> None:
        """Take whole lines as read that were read elsewhere; only where no line is begun."""
        self.lines += lines
        self.bytes += size
        self._start = self.bytes

    def finish(self) -> list[PhysicalLine]:
        """Return the last line, where no newline ended it."""
        return [self._line()] if self._begun else []

    def _ends(self, count: int, found: list[PhysicalLine]) -> None:
        """Take newlines that follow each other: the first ends the unfinished line, the others are empty lines."""
        if count and self._begun:
            found.append(self._line())
            self.lines -= 1
        self.lines += count
        self.bytes += count
        self._start = self.bytes if count else self._start

    def _extend(self, piece: bytes) -> None:
        self.bytes += len(piece)
        self._begun = self._begun or bool(piece)
        if not self._length:
            nuls = len(piece)
            piece = piece.lstrip(b"\0")
            nuls -= len(piece)
            self.nuls += nuls
            self._start += nuls
        self._length += len(piece)
        if self._length <= LINE_LIMIT:
            self._head += piece
            return
        if not self._tail:  # the line outgrows the limit here: its first bytes are the head, all others the tail
            self._head += piece
            piece = bytes(self._head[KEPT:])
            del self._head[KEPT:]
        self._tail += piece
        if len(self._tail) > 2 * LINE_LIMIT:  # now and then, so that the copying stays linear
            del self._tail[:-KEPT]

    def _line(self) -> PhysicalLine:
        self.lines += 1
        data, tail = bytes(self._head), b""
        if self._length > LINE_LIMIT:
            self.cut += 1
            tail = bytes(self._tail[-KEPT:]).lstrip(b"\0").removesuffix(b"\r")
        else:
            data = data.removesuffix(b"\r")
        full, data = len(data), data.rstrip(b"\0")
        self.nuls += full - len(data)
        line = PhysicalLine(self.lines, self._start, self.bytes, data, tail)
        self._begun, self._length = False, 0
        self._head.clear()
        self._tail.clear()
        return line
