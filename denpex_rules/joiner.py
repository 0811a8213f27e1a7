"""Lines that were cut on the way, put together again: pieces of container runtimes, and lines that a terminal or a paste wrapped.

Works on the bytes of one source in front of its lines. Numbers of lines stay as they are, since a blank line stands where a piece
was, and so do offsets in front of a cut line and behind its last piece. Other sources pass through as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final, Protocol

from denpex_rules.formats import peel
from denpex_rules.lines import LINE_LIMIT
from denpex_rules.prefix import ISO, ZONE

SAMPLE_LINES: Final = 200  # the first lines, which tell how a source was cut
SAMPLE_BYTES: Final = 64 * 1024
ENOUGH: Final = 5  # lines of full width from which on a source counts as wrapped
DIFFERENT: Final = 3  # of them, by how they end
NARROW: Final = 40  # columns; text that is narrower is no terminal's
WIDE: Final = 500
ROWS: Final = 200  # of one line that was wrapped
HELD: Final = LINE_LIMIT // 2  # bytes of pieces that wait for their line's end

_CRI: Final = re.compile(ISO + ZONE + rb" (stdout|stderr) ([FP])(?::\S{0,64})? ")
_DOCKER: Final = re.compile(rb'\{"log":"((?:[^"\\]|\\.)*+)","stream":"(stdout|stderr)"')
_WHOLE: Final = re.compile(rb"(?<!\\)(?:\\\\)*+\\n\Z")  # docker's record of a whole line ends with its newline, escaped
_PIECE: Final = re.compile(rb" std(?:out|err) P[ :]")


class _Filter(Protocol):
    """What a source's bytes go through."""

    def feed(self, chunk: bytes) -> bytes:
        """Return the next bytes, changed."""

    def finish(self) -> bytes:
        """Return what was kept back."""

    def notes(self) -> list[str]:
        """Return what was changed, for the coverage."""


class Joiner:
    """Puts the lines of one source together. Feed it all bytes in chunks of any size: the same bytes come out for any chunks."""

    def __init__(self) -> None:
        self._start: bytes = b""  # what waits for the decision
        self._filter: _Filter | None = None

    def feed(self, chunk: bytes) -> bytes:
        """Return the next bytes of the source with what was cut put together; what may go on is kept back."""
        if self._filter is not None:
            return self._filter.feed(chunk)
        self._start += chunk
        if len(self._start) < SAMPLE_BYTES and self._start.count(b"\n") < SAMPLE_LINES:
            return b""
        return self._decide()

    def finish(self) -> bytes:
        """Return what was kept back; nothing can be fed after that."""
        waited = self._decide() if self._filter is None else b""
        return waited + self._filter.finish() if self._filter is not None else waited

    @property
    def notes(self) -> list[str]:
        """What was put together, for the coverage."""
        return self._filter.notes() if self._filter else []

    def _decide(self) -> bytes:
        waiting, self._start = self._start, b""
        self._filter = _choose(waiting[:SAMPLE_BYTES])
        return self._filter.feed(waiting)


def join(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a source with the lines that were cut put together."""
    joiner = Joiner()
    for chunk in chunks:
        if joined := joiner.feed(chunk):
            yield joined
    yield joiner.finish()


def _choose(start: bytes) -> _Filter:
    sample = start.split(b"\n", SAMPLE_LINES)[:SAMPLE_LINES]
    # Most sources have none of these texts: that is far faster to see than that no line matches.
    if b" std" in start and any(_CRI.match(line) for line in sample):
        return _Pieces(_cri)
    if b'{"log":"' in start and any(_DOCKER.match(line) for line in sample):
        return _Pieces(_docker)
    width = wrapped_at(sample)
    return _Wrapped(width) if width else _Through()


class _Through:
    """Changes nothing."""

    def feed(self, chunk: bytes) -> bytes:
        return chunk

    def finish(self) -> bytes:
        return b""

    def notes(self) -> list[str]:
        return []


class _Lines:
    """Hands on whole lines. A line that is too long to wait for goes on as it is."""

    def __init__(self) -> None:
        self._tail = b""
        self._long = False

    def take(self, chunk: bytes) -> tuple[bytes, bytes]:
        """Return the bytes that go on as they are, and the whole lines behind them."""
        through = b""
        if self._long:
            end = chunk.find(b"\n") + 1
            through, chunk = (chunk[:end], chunk[end:]) if end else (chunk, b"")
            self._long = not end
        data = self._tail + chunk
        end = data.rfind(b"\n") + 1
        lines, self._tail = data[:end], data[end:]
        return through, lines

    def overflow(self) -> bytes:
        """Return the unfinished line where it is too long to wait for its end."""
        if len(self._tail) <= LINE_LIMIT:
            return b""
        self._long = True
        return self.rest()

    def rest(self) -> bytes:
        """Return the unfinished line."""
        tail, self._tail = self._tail, b""
        return tail


# ------------------------------------------------------------------ container runtimes

# A line's stream, what stands in front of its content, the content, what stands behind it, and whether it goes on.
_Cut = tuple[bytes, bytes, bytes, bytes, bool]


def _cri(line: bytes) -> _Cut | None:
    match = _CRI.match(line)
    return (match[4], line[: match.end()], line[match.end() :], b"", match[5] == b"P") if match else None


def _docker(line: bytes) -> _Cut | None:
    match = _DOCKER.match(line)
    if match is None:
        return None
    begin, end = match.span(1)
    return match[2], line[:begin], match[1], line[end:], _WHOLE.search(match[1]) is None


class _Pieces:
    """Joins the pieces of a line, stream by stream, where its last one stands. Its time is the last one's: not later than that."""

    def __init__(self, cut: Callable[[bytes], _Cut | None]) -> None:
        self._cut = cut
        self._lines = _Lines()
        self._held: dict[bytes, bytes] = {}
        self._frames: dict[bytes, tuple[bytes, bytes]] = {}  # around the last piece
        self._joined = 0

    def feed(self, chunk: bytes) -> bytes:
        through, lines = self._lines.take(chunk)
        if self._held or self._may_have_pieces(lines):
            lines = b"".join(self._line(line) + b"\n" for line in lines.split(b"\n")[:-1])
        return through + lines + self._lines.overflow()

    def finish(self) -> bytes:
        rest = self._lines.rest()
        lines = [self._line(rest)] if rest else []
        for stream, held in self._held.items():
            before, behind = self._frames[stream]
            lines.append(before + held + behind)
        self._held.clear()
        return b"\n".join(lines)

    def notes(self) -> list[str]:
        return [f"{self._joined} pieces of lines that a container runtime cut were joined"] if self._joined else []

    def _may_have_pieces(self, lines: bytes) -> bool:
        if self._cut is _cri:
            return _PIECE.search(lines) is not None
        return lines.count(b'{"log":"') != lines.count(b'\\n","stream":"')

    def _line(self, line: bytes) -> bytes:
        found = self._cut(line) if len(line) <= LINE_LIMIT else None
        if found is None:
            return line
        stream, before, content, behind, goes_on = found
        held = self._held.get(stream, b"") + content
        if goes_on and len(held) <= HELD:
            self._held[stream], self._frames[stream] = held, (before, behind)
            self._joined += 1
            return b" " * (len(before) + len(behind))
        self._held.pop(stream, None)
        return before + held + behind


# ------------------------------------------------------------------ terminals and pastes


def wrapped_at(sample: list[bytes]) -> int:
    """Return the column at which a source's lines were wrapped, 0 where they were not.

    No line is longer, several are exactly as long (and not filled up with blanks), what follows these has no prefix of its own,
    and words go on across the cut.
    A table's rows and a ruler are as long as each other too, but no word goes on in the next row.
    """
    text = b"\n".join(sample)
    if b"\r" in text:
        sample = [line.removesuffix(b"\r") for line in sample]
    if text.isascii():  # a character is a byte: lines of full width are soon counted
        lengths = [*map(len, sample)]
        if lengths.count(max(lengths, default=0)) < ENOUGH:
            return 0
    lines = [line.decode("utf-8", "replace") for line in sample]
    width = max(map(len, lines), default=0)
    if not NARROW <= width <= WIDE:
        return 0
    cuts = [(a, b) for a, b in pairwise(lines) if len(a) == width and not a.endswith("  ") and b]
    words = sum(_in_word(a[-1]) and _in_word(b[0]) for a, b in cuts)
    own = sum(_begins(b.encode("utf-8", "replace")) for _, b in cuts)
    varied = len({a[-10:] for a, _ in cuts}) >= DIFFERENT  # not one message of two lines that is printed again and again
    enough = len(cuts) >= ENOUGH and len(cuts) * 10 <= len(lines) * 8
    return width if enough and varied and words * 3 >= len(cuts) and own * 10 <= len(cuts) else 0


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _begins(line: bytes) -> bool:
    """Whether a line has a prefix of its own, so that it goes on with none."""
    return bool(peel(line).layout)


class _Wrapped:
    """Joins a line of full width with what follows it."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines = _Lines()
        self._rows: list[bytes] = []
        self._ends: list[bytes] = []
        self._joined = 0

    def feed(self, chunk: bytes) -> bytes:
        through, lines = self._lines.take(chunk)
        joined = b"".join(self._line(line) for line in lines.split(b"\n")[:-1])
        over = self._lines.overflow()
        return through + joined + (self._flush() + over if over else b"")

    def finish(self) -> bytes:
        rest = self._lines.rest()
        joined = (self._line(rest) if rest else b"") + self._flush()
        return joined.removesuffix(b"\n") if rest else joined

    def notes(self) -> list[str]:
        return [f"{self._joined} lines that were wrapped at column {self._width} were joined"] if self._joined else []

    def _line(self, line: bytes) -> bytes:
        before = self._flush() if self._rows and not self._goes_on(line) else b""
        text = line.removesuffix(b"\r")
        self._rows.append(text)
        self._ends.append(line[len(text) :] + b"\n")
        return before if self._is_full(text) else before + self._flush()

    def _goes_on(self, line: bytes) -> bool:
        """Whether a line goes on with the rows before it."""
        return bool(line.strip()) and len(self._rows) < ROWS and len(line) <= LINE_LIMIT and not _begins(line)

    def _is_full(self, line: bytes) -> bool:
        return len(line) >= self._width and len(line.decode("utf-8", "replace")) == self._width and not line.endswith(b"  ")

    def _flush(self) -> bytes:
        joined = b"".join(self._rows) + b"".join(self._ends)
        self._joined += len(self._rows) > 1
        self._rows, self._ends = [], []
        return joined
