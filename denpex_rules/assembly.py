"""Records while a source is read: the lines that make one, and each emitter's unfinished one with the stamps around it."""

from __future__ import annotations

import copy
import re
from bisect import bisect_right
from itertools import accumulate
from typing import Any, Final

from attrs import define

from denpex_rules.activity import Presence
from denpex_rules.clock import UNKNOWN, Instant
from denpex_rules.record import Line
from denpex_rules.retain import Gap, Marked
from denpex_rules.rule import SEVERITIES, Kind, LogSeverity
from denpex_rules.sighting import TEXT_LIMIT, Actor

RECORD_LINES: Final = 200  # a longer record is cut into several
RECORD_BYTES: Final = 64 * 1024
WAITING: Final = 8  # gaps of one emitter that wait for a stamp of their clock
HOST_KINDS: Final = frozenset({"kernel", "fabric", "scheduler"})

_WARNINGS: Final = frozenset(SEVERITIES[SEVERITIES.index("warning") :])
_TRACE: Final = b"Traceback (most recent call last)"


@define
class Piece:
    """One line of a record: peeled, where it stands, and its own instant or the gap that it falls into."""

    line: Line
    text: bytes
    number: int
    start: int
    end: int
    when: Instant | Gap = UNKNOWN
    counted: bool = False  # its emitter's presence has it already

    def __deepcopy__(self, memo: dict[int, Any]) -> Piece:
        return Piece(self.line, self.text, self.number, self.start, self.end, copy.deepcopy(self.when, memo), self.counted)


class Whole:
    """A complete record: its lines, and what they say together."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = pieces
        severities = [p.line.severity for p in pieces if p.line.severity is not None]
        self.severity: LogSeverity | None = max(severities, key=SEVERITIES.index, default=None)
        self.text = pieces[0].text if len(pieces) == 1 else b"\n".join(p.text for p in pieces)  # the lines, joined by newlines
        self.starts = [0, *accumulate(len(p.text) + 1 for p in pieces[:-1])]  # where each line begins in the text
        self._shown: dict[tuple[int, int], str] = {}

    def row(self, offset: int) -> int:
        """Return which line an offset of the text stands in."""
        return bisect_right(self.starts, offset) - 1

    def kind(self, row: int) -> Kind | None:
        """Return the kind that a line itself shows, else the first that the record shows."""
        own = self.pieces[row].line.kind
        return own if own is not None else next((p.line.kind for p in self.pieces if p.line.kind), None)

    def when(self, row: int) -> Instant | Gap:
        """Return the stamp of a line, else the nearest one above it in the record, else the gap that the line falls into."""
        own = self.pieces[row].when
        if isinstance(own, Instant):
            return own
        return next((p.when for p in reversed(self.pieces[:row]) if isinstance(p.when, Instant)), own)

    def actor(self, row: int) -> Actor:
        """Return whom a line speaks for, with what it lacks from the first one."""
        return self.pieces[row].line.actor.merge(self.pieces[0].line.actor)

    def shown(self, row: int, offset: int) -> str:
        """Return a line for display around an offset of the text; one string for all offsets that show the same."""
        text, offset = self.pieces[row].text, offset - self.starts[row]
        key = row, 0 if offset <= _NEAR and _NEWLINE not in text else offset
        found = self._shown.get(key)
        if found is None:
            found = self._shown[key] = shown(text, offset)
        return found


class Speaker:
    """One emitter: its unfinished record, and the stamps around it.

    In a `crowd` nothing tells processes apart, so each line is a record and an emitter of its own.
    """

    def __init__(self, label: str, *, crowd: bool = False) -> None:
        self.label = label
        self.crowd = crowd
        self.presence = Presence()
        self.pieces: list[Piece] = []
        self.hits: dict[int, int] = {}  # events that a literal announces, and their alternatives as bits
        self.size = 0
        self.tail: Marked | None = None  # in place of pieces: a record of one line that was not read in full
        self._stamp: Instant | None = None
        self._gap: Gap | None = None
        self._waiting: list[Gap] = []

    def label_of(self, piece: Piece) -> str:
        """Return the label that a sighting on this line carries."""
        return f"{self.label}{piece.number}" if self.crowd else self.label

    def begins(self, piece: Piece) -> bool:
        """Say whether a line begins a new record after the unfinished one."""
        if not self.pieces:
            return False
        line, before = piece.line, self.pieces[0].line
        full = len(self.pieces) == RECORD_LINES or self.size + len(piece.text) > RECORD_BYTES
        # An exception's last line goes with a process's record above it, never with a host's.
        stranger = line.severity is not None and line.kind is None and before.kind in HOST_KINDS
        return (line.head and not self._announced(piece)) or full or self.crowd or stranger

    def _announced(self, piece: Piece) -> bool:
        """Say whether a traceback goes with the one line above it: one that warns of it, or says that it is ignored."""
        if len(self.pieces) != 1 or not piece.text.startswith(_TRACE) or piece.line.instant.known:
            return False
        above = self.pieces[0]
        warned = above.line.severity in _WARNINGS and above.line.instant.known
        return warned or above.text.startswith(b"Exception ignored in")

    @property
    def waits(self) -> bool:
        """Whether lines without a stamp wait for the next one."""
        return self._gap is not None or bool(self._waiting)

    def when(self, instant: Instant) -> Instant | Gap:
        """Take the instant of the next line; for one without a stamp, return the gap between the stamps around it."""
        if instant.known:
            gaps = [*self._waiting, *([self._gap] if self._gap else [])]
            self._waiting = [gap for gap in gaps if not gap.close(instant)][-WAITING:]
            self._gap, self._stamp = None, instant
            return instant
        if self.crowd:
            return UNKNOWN
        self._gap = self._gap or Gap(self._stamp)
        return self._gap


# ------------------------------------------------------------------ texts

_VARIABLE: Final = re.compile(r"0[xX][0-9a-fA-F]+|(?:/[^\s/:'\",;()\[\]<>=]+)+/?|(?=[a-f]*\d)[0-9a-f]{8,}|\d+")
_NEWLINE: Final = ord("\n")
_NEAR: Final = TEXT_LIMIT // 2  # bytes from a line's begin; a match there is shown with the begin
_LEAD: Final = 200  # bytes shown in front of a match that stands far inside a line


def is_brief(text: bytes) -> bool:
    """Whether a record's text is one line that is shown alike wherever in it a match stands."""
    return len(text) <= _NEAR and _NEWLINE not in text


def shown(text: bytes, offset: int = 0) -> str:
    """Return a line of a record's text for display: the line at `offset`, invalid bytes escaped, at most TEXT_LIMIT long."""
    begin = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    line = text[begin : len(text) if end < 0 else end]
    far = offset - begin > _NEAR
    if far:
        line = line[offset - begin - _LEAD :]
    words = line[: 4 * TEXT_LIMIT].decode("utf-8", "backslashreplace")
    words = "…" + words if far else words
    return words if len(words) <= TEXT_LIMIT else words[: TEXT_LIMIT - 1] + "…"


def shape(text: str) -> str:
    """Return a text with its numbers, addresses and paths replaced, so that records of one shape count together."""
    return _VARIABLE.sub(lambda m: "<path>" if m[0][0] == "/" else "#", text[:300])
