"""Marked lines read in full: what the few of them that are kept to the end tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from denpex_rules.assembly import Piece, Whole, is_brief, shape, shown
from denpex_rules.forms import shape as alike
from denpex_rules.pattern import Hit
from denpex_rules.program import Matcher
from denpex_rules.record import Hints, Line
from denpex_rules.retain import Marked
from denpex_rules.sighting import Draft, Emitter, Sighting, made
from denpex_rules.skim import huge

TEMPLATES: Final = 20_000  # of plain error lines that are remembered; then they are made anew

_BARE: Final = [Hit({}, 0, 0)]  # where an event shows without captures


class Rereader:
    """Reads the marked lines of one source."""

    def __init__(self, matcher: Matcher, peel: Callable[[bytes, Hints], Line]) -> None:
        """Begin a source; `peel` reads one line."""
        self._matcher = matcher
        self._peel = peel
        self._templates: dict[bytes, str] = {}
        self._bare: dict[bytes, set[int]] = {}

    def piece(self, marked: Marked, hints: Hints) -> Piece:
        """Return a marked line as a piece of a record; `hints` are what the place of the source claims."""
        line = self._line(marked, hints)
        when = line.instant if marked.gap is None else marked.gap
        return Piece(line, _text(line), marked.number, marked.start, marked.start + len(marked.raw), when)

    def record(self, marked: Marked, hints: Hints) -> Whole:
        """Return the record that a marked line is."""
        return Whole([self.piece(marked, hints)])

    def template(self, marked: Marked, hints: Hints) -> str:
        """Return the template of a marked line that is an error: the same for all that differ only in digits."""
        form = alike(marked.raw)
        template = self._templates.get(form)
        if template is None:
            template = shape(shown(self.record(marked, hints).text))
            if len(self._templates) >= TEMPLATES:
                self._templates.clear()
            if digits_alike(form):
                self._templates[form] = template
        return template

    def sightings(self, marked: Marked, hints: Hints, emitter: Emitter, places: list[int]) -> list[Sighting]:
        """Return the sightings of some events in a marked line that shows them."""
        line = self._line(marked, hints)
        text, number, begin, matcher = _text(line), marked.number, marked.start, self._matcher
        end, brief = begin + len(marked.raw), is_brief(text)
        instant = line.instant if marked.gap is None else marked.gap.instant()
        whole = shown(text) if brief else ""
        bare = self._bare_in(text) if brief else set()
        found = []
        for place in places:
            hits = _BARE if place in bare else matcher.pattern(place).matches(text)
            for hit in hits:
                words = whole if brief else shown(text, hit.start)
                found.append(
                    made(
                        Draft(
                            matcher.events[place].id,
                            emitter,
                            number,
                            number,
                            begin,
                            end,
                            instant,
                            line.actor,
                            hit.fields,
                            line.kind,
                            line.severity,
                            words,
                        )
                    )
                )
            if hits is not _BARE and hits and not hits[-1].fields and matcher.is_blind(place, text):
                bare.add(place)
        return found

    def _bare_in(self, text: bytes) -> set[int]:
        """Return the events that texts alike but for digits are known to show without captures: then all of them do."""
        form = alike(text)
        bare = self._bare.get(form)
        if bare is None:
            if len(self._bare) >= TEMPLATES:
                self._bare.clear()
            bare = set()
            if not huge(form):
                self._bare[form] = bare
        return bare

    def _line(self, marked: Marked, hints: Hints) -> Line:
        """Return a marked line as reading it in full tells it."""
        data = marked.raw.removesuffix(b"\r")
        line = marked.line
        if line is None and marked.like is not None:
            line = marked.like.read(data, marked.instant)
        return self._peel(data, hints) if line is None else line


def digits_alike(text: bytes) -> bool:
    """Whether all lines that differ from this one only in digits have one template: a number may be hexadecimal by a digit."""
    return b"0x" not in text and b"0X" not in text


def _text(line: Line) -> bytes:
    return line.text.replace(b"\r", b"\n")  # a redrawn progress bar: each drawing reads as a line
