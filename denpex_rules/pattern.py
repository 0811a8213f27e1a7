"""Event patterns: from typed templates and RE2 regexes to fields with canonical values.

Every sequence of an event becomes one RE2 regex over the bytes of a record, so matching takes time linear in the record.
In a regex `.` stops at the end of a line, and `^` and `$` are the bounds of a line; parts joined by `&` may stand on
different lines of the record, a capture never does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import re2
from attrs import define, frozen

from denpex_rules.literals import fixed_texts
from denpex_rules.rule import SEVERITIES, Alternative, Event, Kind, LogSeverity, Regex, Sequence, Template
from denpex_rules.values import BUILTIN, CaptureType, Value

Types = Mapping[str, CaptureType]

ATTEMPTS: Final = 64  # places of one record with the shape but without the values, before the search is given up
OCCURRENCES: Final = 256  # of one event in one record
TRIES: Final = 16  # of a regex, before the texts that it needs are derived
FEW: Final = 8  # sets of texts, and texts of one set, that are looked for before a regex is tried
MOST: Final = 3  # of those sets, before the regex costs no more
TEXT_VALUE: Final = 1000  # characters of a captured text that are kept
SHAPED_VALUE: Final = 4096  # bytes; a longer text of any other type is not a value
LIST_VALUE: Final = 65_536  # members; a longer list of ranks is not a value

Texts = tuple[tuple[bytes, ...], ...]  # sets of texts of which a record contains one each

_NEWLINE: Final = ord("\n")  # looked for as a number: this costs a tenth of looking for a text
ANONYMOUS: Final = frozenset({"", "_"})  # names of captures whose shape counts and whose value is dropped


class PatternError(ValueError):
    """A part of an event is not linear-time RE2 syntax, or names a capture type that is not installed."""

    def __init__(self, message: str, part: Template | Regex) -> None:
        self.part = part
        super().__init__(message)


@frozen
class Hit:
    """A match of an event: captured values by name, and the half-open byte range in the record that it spans."""

    fields: dict[str, Value]
    start: int
    end: int


@frozen
class EventPattern:
    """An event, ready to be tried on records; each alternative is compiled when it is first tried."""

    event: Event
    alternatives: tuple[_AlternativePattern, ...]

    def accepts(self, severity: LogSeverity | None, kind: Kind | None) -> bool:
        """Say whether a record of this severity and kind may be the event; what is unknown passes."""
        floor, kinds = self.event.severity, self.event.kinds
        loud = severity is None or floor is None or SEVERITIES.index(severity) >= SEVERITIES.index(floor)
        return loud and (kind is None or not kinds or kind in kinds)

    def may_match(self, text: bytes, alternatives: int) -> bool:
        """Say whether the texts of one of some alternatives (a bit each) stand in a record; far cheaper than their regexes."""
        return any(one.may_match(text) for number, one in enumerate(self.alternatives) if alternatives >> number & 1)

    def may_match_others(self, text: bytes, alternatives: int) -> bool:
        """Say whether `may_match` may hold for this text with other digits in place of its own, however many."""
        even = _evened(text)
        return any(one.may_match_others(even) for number, one in enumerate(self.alternatives) if alternatives >> number & 1)

    def match(self, text: bytes) -> Hit | None:
        """Return the first hit of the first alternative that has one; see `matches`."""
        return next(iter(self.matches(text)), None)

    def matches(self, text: bytes, announced: int = -1) -> list[Hit]:
        """Return the occurrences of the event in a record's text, at most OCCURRENCES.

        Alternatives are tried in written order. One of a single sequence occurs once for each place where it matches, from
        left to right without overlap; one of several sequences occurs once. A later alternative counts only on lines that no
        occurrence of an earlier one touches: a line that a precise alternative explains isn't explained again by a loose one.

        Args:
            text: the record's lines, joined by newlines.
            announced: the alternatives that may match, a bit each.
        """
        hits: list[Hit] = []
        taken: list[tuple[int, int]] = []  # the lines of what earlier alternatives hit, as half-open ranges
        for number, alternative in enumerate(self.alternatives):
            if not (alternative.lead in text if announced < 0 else announced >> number & 1):
                continue
            for hit in alternative.occurrences(text):
                if taken and _touches(taken, _lines_around(text, hit)):
                    continue
                hits.append(hit)
                if len(hits) == OCCURRENCES:
                    return hits
            if hits:
                if _NEWLINE not in text:
                    break  # no line is left for a later alternative
                taken += (_lines_around(text, hit) for hit in hits[len(taken) :])
        return hits


def compile_event(event: Event, types: Types = BUILTIN) -> EventPattern:
    """Return the pattern of an event, compiled as a whole.

    Args:
        event: the event.
        types: every capture type that it may name; those of plug-ins included.

    Raises:
        PatternError: a regex is not RE2 syntax, or a type is not installed.
    """
    pattern = trusted_event(event, types)
    for alternative in pattern.alternatives:
        _ = alternative.sequences
    return pattern


def trusted_event(event: Event, types: Types = BUILTIN) -> EventPattern:
    """Return the pattern of an event that was compiled before: few of its alternatives will ever be tried.

    Args:
        event: the event.
        types: every capture type that it names.
    """
    declared = dict(event.captures)
    return EventPattern(event, tuple(_AlternativePattern(a, declared, types, _lead(a), _free(a)) for a in event.alternatives))


def _lead(alternative: Alternative) -> bytes:
    """Return the longest text of an alternative's templates; empty where they have none."""
    templates = (p for s in alternative.sequences for p in s.parts if isinstance(p, Template))
    return max((piece for t in templates for piece in t.pieces if isinstance(piece, str)), key=len, default="").encode()


def _free(alternative: Alternative) -> int:
    """Return how often an alternative may be tried before the texts that it needs are derived: those of templates stand there."""
    return 0 if all(isinstance(p, Template) for s in alternative.sequences for p in s.parts) else TRIES


def admits(shape: str, text: str) -> bool:
    """Say whether a whole text is of a shape; what is not RE2 syntax admits nothing."""
    try:
        return compile_regex(shape).fullmatch(text.encode()) is not None
    except re2.error:
        return False


def compile_regex(text: str) -> Any:
    """Compile RE2 text for bytes. Raises re2.error."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return re2.compile(text.encode(), options)


def _lines_around(text: bytes, hit: Hit) -> tuple[int, int]:
    end = text.find(b"\n", hit.end)
    return text.rfind(b"\n", 0, hit.start) + 1, (len(text) if end < 0 else end) + 1


def _touches(taken: list[tuple[int, int]], lines: tuple[int, int]) -> bool:
    return any(start < lines[1] and lines[0] < end for start, end in taken)


def _match_all(sequences: tuple[_Sequence, ...], text: bytes) -> Hit | None:
    fields: dict[str, Value] = {}
    hits = []
    for sequence in sequences:
        hit = sequence.match(text)
        if hit is None or any(fields.get(name, value) != value for name, value in hit.fields.items()):
            return None
        fields |= hit.fields
        hits.append(hit)
    return Hit(fields, min(h.start for h in hits), max(h.end for h in hits))


def _needed(alternative: Alternative) -> Texts:
    """Return few sets of texts, the most telling first: every match contains one text of each."""
    sets = sorted(fixed_texts(alternative), key=lambda texts: (-min(map(len, texts)), sorted(texts)))
    return tuple(tuple(sorted(texts)) for texts in sets if len(texts) <= FEW)[:FEW]


# ------------------------------------------------------------------ sequences


@define
class _AlternativePattern:
    """Sequences that must all occur, and sets of texts of which a record must contain one each before they are tried."""

    alternative: Alternative
    declared: Mapping[str, str]
    types: Types
    lead: bytes  # a text that every match contains; empty while none is known
    _free: int  # tries that are left before the texts decide

    @cached_property
    def sequences(self) -> tuple[_Sequence, ...]:
        """The compiled sequences. Raises PatternError."""
        return tuple(_compile_sequence(s, self.declared, self.types) for s in self.alternative.sequences)

    @cached_property
    def needed(self) -> Texts:
        """The sets of texts."""
        return _needed(self.alternative)

    def occurrences(self, text: bytes) -> Iterable[Hit]:
        """Return the places where a single sequence matches; those of several sequences together are one.

        Some tries cost less than deriving the texts, from then on the texts decide what is tried.
        """
        sequences = self.sequences
        first = sequences[0]
        if isinstance(first, _FixedText) and len(sequences) == 1:
            return first.matches(text)
        needed: Texts = ()
        if self._free:
            self._free -= 1
            if not self._free:
                self._lead()
        else:
            needed = self.needed
            if not _stand(needed[:MOST], text):
                return ()
        if isinstance(first, _FixedText) or len(sequences) > 1:
            hit = _match_all(sequences, text)
            return (hit,) if hit else ()
        return first.matches(text, needed[0] if needed else ())

    def _lead(self) -> None:
        """Derive the texts."""
        if not self.lead and self.needed and len(self.needed[0]) == 1:
            (self.lead,) = self.needed[0]

    def may_match(self, text: bytes) -> bool:
        """Say whether the texts stand in a record; looking for them costs far less than the regex."""
        return _stand(self.needed, text)

    @cached_property
    def _evened_needed(self) -> Texts:
        return tuple(tuple(map(_evened, texts)) for texts in self.needed)

    def may_match_others(self, even: bytes) -> bool:
        """Say whether the texts, with every number alike, stand in a record in which every number is alike."""
        return all(any(one in even for one in texts) for texts in self._evened_needed)


_NUMBERS: Final = re.compile(rb"\d+")


def _stand(needed: Texts, text: bytes) -> bool:
    """Say whether one text of each set stands in a record."""
    for texts in needed:
        for one in texts:
            if one in text:
                break
        else:
            return False
    return True


def _evened(text: bytes) -> bytes:
    """Return a text with every number alike."""
    return _NUMBERS.sub(b"0", text)


@frozen
class _Group:
    """One capture of a compiled sequence.

    `longer` is the type's regex where another part follows: the search for that part must not cut a number short.
    """

    index: int
    name: str
    type: CaptureType
    longer: Any = None


@frozen
class _FixedText:
    """A sequence of one text without captures: looking for it costs less than a regex."""

    fixed: bytes

    def match(self, text: bytes) -> Hit | None:
        """Return the leftmost hit, None when there is none."""
        return next(self.matches(text), None)

    def matches(self, text: bytes) -> Iterator[Hit]:
        """Yield the places where the text stands, from left to right without overlap."""
        fixed, size = self.fixed, len(self.fixed)
        begin = text.find(fixed)
        while begin >= 0:
            yield Hit({}, begin, begin + size)
            begin = text.find(fixed, begin + size)


@frozen
class _SequencePattern:
    regex: Any
    groups: tuple[_Group, ...]

    def match(self, text: bytes) -> Hit | None:
        """Return the leftmost hit, None when there is none."""
        return next(self.matches(text), None)

    def matches(self, text: bytes, needed: tuple[bytes, ...] = ()) -> Iterator[Hit]:
        """Yield the places, from left to right without overlap, where the shape fits and all captured texts are values.

        After a text that is no value, the search goes on behind that text: a piece of it can't become a value.

        Args:
            text: the record's text.
            needed: texts of which every match contains one; none where that is not known.
        """
        search, failures = self.regex.search, 0
        found = search(text)
        while found is not None:
            start, end = found.span()
            fields, stop = self._fields(found, text, end) if self.groups else ({}, end)
            if fields is not None:
                yield Hit(fields, start, end)
            else:
                failures += 1
            position = max(start + 1, stop)
            if position > len(text) or failures == ATTEMPTS or (needed and not _stands_from(position, needed, text)):
                return
            found = search(text, position)

    def _fields(self, found: Any, text: bytes, end: int) -> tuple[dict[str, Value] | None, int]:
        """Return the values of a match and its end, or None and the end of the text that is no value."""
        fields: dict[str, Value] = {}
        span = found.span
        for group in self.groups:
            start, stop = span(group.index)
            if start < 0:  # an optional group that took no part
                continue
            value = _value(group, text, start, stop)
            if value is None or fields.get(group.name, value) != value:
                return None, stop
            if group.name not in ANONYMOUS:
                fields[group.name] = value
        return fields, end


_Sequence = _FixedText | _SequencePattern


def _stands_from(position: int, texts: tuple[bytes, ...], text: bytes) -> bool:
    """Say whether one of some texts stands behind a position: this costs less than to try a regex there."""
    for one in texts:  # noqa: SIM110  # a generator costs more than the search
        if text.find(one, position) >= 0:
            return True
    return False


def _value(group: _Group, text: bytes, start: int, end: int) -> Value | None:
    """Return the canonical value of a captured text, None when it is none."""
    raw, kind = text[start:end], group.type
    if _NEWLINE in raw or (group.longer is not None and end < len(text) and group.longer.fullmatch(text[start : end + 1])):
        return None
    if kind.base == "text":
        raw = raw[: 4 * TEXT_VALUE]
    elif len(raw) > SHAPED_VALUE:
        return None
    try:
        value = kind.parse(raw.decode("utf-8", "backslashreplace"))
    except (ValueError, ArithmeticError):
        return None  # a number too large to be one
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return value[:TEXT_VALUE]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if isinstance(value, tuple) and len(value) > LIST_VALUE else value


def _compile_sequence(sequence: Sequence, declared: Mapping[str, str], types: Types) -> _Sequence:
    fixed = _fixed(sequence)
    if fixed:
        return _FixedText(fixed)
    pieces: list[str] = []
    groups: list[_Group] = []
    taken = 0  # groups of the parts before
    for number, part in enumerate(sequence.parts, 1):
        last = number == len(sequence.parts)
        if isinstance(part, Template):
            text, own = _template(part, types, taken, last=last)
        else:
            text, own = _regex(part, declared, types, taken)
        pieces.append(text)
        groups += own
        taken += len(own) if isinstance(part, Template) else _compile(text, part).groups
    return _SequencePattern(_compile("(?m)" + "(?s:.*?)".join(pieces), sequence.parts[-1]), tuple(groups))


def _fixed(sequence: Sequence) -> bytes:
    """Return the text of a sequence that is one template without captures."""
    first = sequence.parts[0]
    if len(sequence.parts) > 1 or isinstance(first, Regex) or not all(isinstance(piece, str) for piece in first.pieces):
        return b""
    return "".join(map(str, first.pieces)).encode()


def _compile(text: str, part: Template | Regex) -> Any:
    try:
        return compile_regex(text)
    except re2.error as error:
        reason = error.args[0] if error.args else "not accepted"
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(words, part) from error


def _template(part: Template, types: Types, taken: int, *, last: bool) -> tuple[str, list[_Group]]:
    pieces: list[str] = []
    groups: list[_Group] = []
    for position, piece in enumerate(part.pieces, 1):
        if isinstance(piece, str):
            pieces.append(re.escape(piece))
            continue
        kind, final = _type(piece.type, part, types), position == len(part.pieces)
        # A lazy capture with nothing behind it would always be empty: at the end it takes the rest of the line.
        shape = kind.pattern.removesuffix("?") if final and kind.pattern.endswith(("*?", "+?")) else kind.pattern
        if _compile(shape, part).groups:
            raise PatternError("a capture type has groups of its own", part)
        pieces.append(f"({shape})")
        cuttable = final and not last and kind.base != "text"
        groups.append(_Group(taken + len(groups) + 1, piece.name, kind, _compile(kind.pattern, part) if cuttable else None))
    return "".join(pieces), groups


def _regex(part: Regex, declared: Mapping[str, str], types: Types, taken: int) -> tuple[str, list[_Group]]:
    own = dict(part.types)
    compiled = _compile(part.text, part)
    groups = []
    for raw, index in sorted(compiled.groupindex.items(), key=lambda item: item[1]):
        name = raw.decode()
        groups.append(_Group(taken + index, name, _type(own.get(name) or declared.get(name, "text"), part, types)))
    # Inline flags at the front of a part must not leak into the parts behind it.
    return f"(?:{part.text})", groups


def _type(name: str, part: Template | Regex, types: Types) -> CaptureType:
    if name not in types:
        raise PatternError(f"capture type `{name}` is not installed", part)
    return types[name]
