"""Which lines of a block must be read in full: those with more than a prefix and a message, or with what digits decide.

An event that is blind to digits has one answer for all lines of a shape. So a line whose shape was looked at before is
decided by a look-up: it shows nothing, or is marked with what it shows and read when the scan ends, should it be kept so long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from typing import Final

from attrs import frozen

from denpex_rules.backend import Hits
from denpex_rules.care import GLUED
from denpex_rules.forms import Forms, shape
from denpex_rules.program import Matcher
from denpex_rules.record import Line

Places = tuple[int, ...]  # of events in the program

_Key = tuple[Hashable, bytes, frozenset[int]]  # a form, the shape of a message, and the events to look for

ANSWERS: Final = 4_000  # that are remembered, by all sources of a school; then they are looked for anew
FULL: Final = None  # the answer for a line that must be read in full


@frozen
class Screened:
    """What is special in one block.

    `full` are the half-open ranges of the lines that must be read in full, in order; `marks` are the events that plain
    lines show, by the offset at which the line begins.
    """

    full: list[tuple[int, int]]
    marks: dict[int, Places]


class Screen:
    """Screens the blocks of one source."""

    def __init__(self, matcher: Matcher, forms: Forms, peel: Callable[[bytes], Line]) -> None:
        """Begin a source: `forms` are those of its plain lines, `peel` reads one line."""
        self._matcher = matcher
        self._forms = forms
        self._peel = peel
        self.answers: dict[_Key, Places | None] = {}  # may be those of all sources that name their forms alike

    def look(self, block: bytes) -> Screened:
        """Look at whole lines."""
        full: list[tuple[int, int]] = []
        marks: dict[int, Places] = {}
        announce, care, mark = self._matcher.announcements, self._matcher.care, self._matcher.marks
        shortest = self._forms.shortest
        start = end = 0  # of the line that the hits stand in
        places: set[int] = set()
        cares: list[tuple[int, bool]] = []
        for offset, number in self._hits(block):
            if offset >= end:
                if places or cares:
                    self._decide(block, (start, end), places, cares, Screened(full, marks))
                    places, cares = set(), []
                start = block.rfind(b"\n", 0, offset) + 1
                end = block.find(b"\n", offset) + 1
            if number == _GLUE:
                cares.append((offset, True))
                continue
            places.update(announce[number])
            if (care[number] or mark[number]) and offset - start >= shortest:
                cares.append((offset, care[number]))
        if places or cares:
            self._decide(block, (start, end), places, cares, Screened(full, marks))
        return Screened(full, marks)

    def _hits(self, block: bytes) -> Hits:
        """Return the hits of all literals, and of a text that asks for care in the midst of a line."""
        hits = self._matcher.hits(block)
        if block.count(GLUED) == block.count(b"\n" + GLUED) + block.startswith(GLUED):
            return hits
        return sorted([*hits, *((found.end() - 1, _GLUE) for found in _GLUES.finditer(block))])

    def _decide(self, block: bytes, line: tuple[int, int], places: set[int], cares: list[tuple[int, bool]], into: Screened) -> None:
        """Decide about a line in which texts stand that announce events, or that ask for care at these offsets."""
        start, end = line
        form, body = self._forms.head(block, start)
        if not form:
            return  # not plain: it is read in full anyway
        settled = form in self._forms.settled
        for offset, always in cares:
            if offset >= body and (always or not settled) and not (block[offset] == _RETURN and offset == end - 2):
                into.full.append(line)
                return
        if not places:
            return
        answer = self.answer(form, block[start : end - 1], block[body:end], places)
        if answer is FULL:
            into.full.append(line)
        elif answer:
            into.marks[start] = answer

    def answer(self, form: Hashable, raw: bytes, message: bytes, places: set[int]) -> Places | None:
        """Return the events that a plain line shows; FULL where it must be read to tell.

        Args:
            form: its form.
            raw: the line without its newline.
            message: the line behind its prefix, with its newline.
            places: the events that texts in it announce.
        """
        seeing = self._seeing(raw, places)
        # What digits may decide on this line is not decided by its shape: another line of it may show the event all the same.
        answer = self._answer((form, shape(message), frozenset(places.difference(seeing))), raw)
        if seeing and answer is not FULL:
            more = self._shown(raw, seeing)
            answer = FULL if more is FULL else tuple(sorted((*answer, *more)))
        return answer

    def is_general(self, raw: bytes, message: bytes, places: set[int]) -> bool:
        """Whether the answer for a plain line holds for all lines of its form and shape; the arguments are those of `answer`."""
        return not huge(message) and all(self._matcher.is_blind(place, raw) for place in places)

    def _seeing(self, raw: bytes, places: set[int]) -> list[int]:
        """Return the events that digits may decide on this very line: one of their alternatives that see them may match."""
        seeing, pattern = self._matcher.seeing, self._matcher.pattern
        return [place for place in places if place in seeing and pattern(place).may_match(raw, seeing[place])]

    def _answer(self, key: _Key, raw: bytes) -> Places | None:
        """Return which events of a key a plain line shows; FULL where it must be read to tell."""
        found = self.answers.get(key, ())
        if found or key in self.answers:
            return found
        if huge(key[1]):
            return FULL
        if len(self.answers) >= ANSWERS:
            self.answers.clear()
        found = self.answers[key] = self._shown(raw, key[2])
        return found

    def _shown(self, raw: bytes, places: Iterable[int]) -> Places | None:
        line = self._peel(raw)
        found = []
        for place in sorted(places):
            pattern = self._matcher.pattern(place)
            if not pattern.accepts(line.severity, line.kind):
                continue
            hits = list(pattern.matches(line.text))
            if len(hits) > 1:
                return FULL
            found += [place] if hits else []
        return tuple(found)


def huge(message: bytes) -> bool:
    """Whether a message has an exponent with which a number may be none that a float can hold: other digits may tell more."""
    return _HUGE.search(shape(message)) is not None


_HUGE: Final = re.compile(rb"[0.][eE][+-]?000")  # an exponent with which a number may be none that a float can hold
_RETURN: Final = ord("\r")
_GLUE: Final = -1  # in place of the number of a literal
_GLUES: Final = re.compile(rb"(?<=[^\n])" + re.escape(GLUED))
