"""Plain lines read by an example: others of its emitter and form tell what it tells, but for their text and time."""

from __future__ import annotations

import re
from typing import Final

from denpex_rules.clock import SECOND, UNKNOWN, Instant, whole_seconds
from denpex_rules.forms import shape
from denpex_rules.record import Line
from denpex_rules.school import Prefix

_NUMBER: Final = re.compile(rb"\d+")
_UNREAD: Final = (-1, -1)


class Exemplar:
    """A plain line that was read in full."""

    __slots__ = ("_fraction", "_head", "_instant", "_prefix", "_text", "_usable", "line")  # there may be very many

    def __init__(self, raw: bytes, body: int, line: Line, prefix: Prefix) -> None:
        """Take an example.

        Args:
            raw: the line without its newline.
            body: where its message begins.
            line: what was read.
            prefix: its form's.
        """
        self.line = line.without_text()
        self._head = raw[:body]
        self._instant = line.instant
        self._text = len(raw) - len(line.text)
        self._prefix: Prefix | None = prefix  # until it is known where the fraction stands
        self._fraction = _UNREAD
        self._usable = False

    def read(self, raw: bytes, second: Instant) -> Line | None:
        """Return another line of this emitter and form as reading it would; None where that takes reading.

        Args:
            raw: the line without its newline.
            second: its time in whole seconds; of no matter where the example has none.
        """
        if self._prefix is not None:
            self._prepare(self._prefix)
        if not self._usable or shape(raw[: len(self._head)]) != self._head:
            return None
        line = self.line
        return Line(
            raw[self._text :],
            line.label,
            line.actor,
            self._time(raw, second),
            line.severity,
            line.kind,
            line.head,
            line.repeats,
            line.layout,
            line.partial,
            line.body,
        )

    def _prepare(self, prefix: Prefix) -> None:
        """Find out where the fraction of the second stands, and whether it tells the time as it should."""
        found = _fractions(self._head, prefix)
        self._fraction = found[0] if found else _UNREAD
        self._usable = len(found) < 2 and self._time(self._head, whole_seconds(self._instant)) == self._instant  # several stamps
        self._head = shape(self._head)
        self._prefix = None

    def _time(self, raw: bytes, second: Instant) -> Instant:
        if not self._instant.known:
            return UNKNOWN
        begin, end = self._fraction
        unit = 10 ** (9 - (end - begin)) if begin < end else SECOND
        behind = int(raw[begin:end]) * unit if begin < end else 0
        return Instant(second.lo + behind, second.hi - SECOND + behind + unit - 1, second.clock, second.domain, second.year)


def _fractions(head: bytes, prefix: Prefix) -> list[tuple[int, int]]:
    """Return where the fractions of a second stand in a prefix."""
    found, at = [], 0
    for step in prefix.steps:
        end = at + len(step.text)
        if step.role != "fixed":
            number = _NUMBER.match(head, at, at + step.width if step.width else len(head))
            assert number is not None  # it is the prefix of this head
            end = number.end()
        if step.role == "fraction":
            found.append((at, end))
        at = end
    return found
