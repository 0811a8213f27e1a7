"""Programs: compiled rules, ready to scan and correlate, and their saved form.

A saved program is text: a header line and a body line, both JSON. It holds literals and tables, never code, and loading it
needs no parser. The literal automaton and the regexes are built again after loading, each when it is first needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from attrs import evolve, field, frozen

from denpex_rules.backend import AhoCorasick, Backend, Bytes, Hits, Taker, checked, choose
from denpex_rules.care import CARE, MARKS
from denpex_rules.codec import MISFITS, make_converter
from denpex_rules.errors import ProgramError
from denpex_rules.pattern import EventPattern, Types, trusted_event
from denpex_rules.rule import Event, Rule, Template
from denpex_rules.values import BUILTIN

FORMAT: Final = "denpex-program"
VERSION: Final = 2
WORTH: Final = 1 << 20  # bytes from which on the chosen backend is worth its start; fewer are looked through by a smaller one


@frozen
class RootClass:
    """What the taxonomy says about one class that a rule names. A symptom is never reported as the initiator."""

    id: str
    title: str
    role: Literal["cause", "symptom"]
    layer: str


@frozen
class LiteralEntry:
    """One text of the literal table and the events that it announces.

    `masks` says for each of them which of its alternatives may then match, a bit each; `seeing`, which of all its alternatives
    digits decide: what these make of a line, no other line tells.
    """

    text: str
    events: tuple[str, ...]
    masks: tuple[int, ...]
    seeing: tuple[int, ...]


@frozen
class Pack:
    """One rule pack that the rules came from."""

    name: str
    version: str


@frozen
class Program:
    """Rules and events in the form that matching needs.

    `language` is the version of the rule language. `types` are the capture types that patterns may name; they are code, so
    they are installed and passed in, not saved. `backend` names what finds the literals; it makes no difference to what is found.
    """

    rules: tuple[Rule, ...]
    events: tuple[Event, ...]
    literals: tuple[LiteralEntry, ...]
    classes: tuple[RootClass, ...] = ()
    packs: tuple[Pack, ...] = ()
    language: int = 1
    types: Types = field(default=BUILTIN, eq=False, repr=False)
    backend: str = field(default="auto", eq=False, repr=False)

    @cached_property
    def matcher(self) -> Matcher:
        """The literal automaton and the patterns; shared by all scans of this program."""
        return Matcher(self.events, self.literals, self.types, self.backend)

    @cached_property
    def lookups(self) -> frozenset[str]:
        """The events that rules use only in look-ups and confirming steps: many are seen, few are ever needed."""
        decisive = {s.event for r in self.rules for s in r.steps if s.verb in {"require", "unless"}}
        return frozenset(e.id for e in self.events if e.id not in decisive and not e.identity)

    def rule(self, rule_id: str) -> Rule:
        """Return a rule by id or `pack:id`. Raises KeyError."""
        return self._rules[rule_id]

    def event(self, event_id: str) -> Event:
        """Return an event by id. Raises KeyError."""
        return self._events[event_id]

    def root_class(self, class_id: str) -> RootClass | None:
        """Return the taxonomy's entry for a class, None when the program has none."""
        return next((c for c in self.classes if c.id == class_id), None)

    @cached_property
    def _rules(self) -> Mapping[str, Rule]:
        return {name: r for r in self.rules for name in (r.id, r.qualified)}

    @cached_property
    def _events(self) -> Mapping[str, Event]:
        return {e.id: e for e in self.events}


Announced = tuple[tuple[int, int], ...]  # places of events, and which of their alternatives may match (a bit each)
EVERY: Final = -1  # all alternatives


class Matcher:
    """Finds events in text: literals first, then the pattern of each event that a literal announces.

    Events go by their place in the program.
    """

    def __init__(
        self, events: tuple[Event, ...], literals: tuple[LiteralEntry, ...], types: Types = BUILTIN, backend: str = "pyahocorasick"
    ) -> None:
        """Prepare the tables; automata are built and patterns are compiled when they are first asked for.

        Raises UsageError where there is no such backend, or it is not installed.
        """
        self.events = events
        self._types = types
        self._patterns: dict[int, EventPattern] = {}
        self._backend = checked(backend)
        self._read = 0  # bytes
        self.place: Final = {e.id: i for i, e in enumerate(events)}
        self.expensive: Final = dict.fromkeys((i for i, e in enumerate(events) if e.expensive), EVERY)
        told = {entry.text.encode(): entry for entry in literals}
        self._texts: Final = [*told, *(text for text in (*CARE, *MARKS) if text not in told)]
        self._announced: Final[tuple[Announced, ...]] = (
            *(tuple((self.place[name], mask) for name, mask in zip(e.events, e.masks, strict=True)) for e in literals),
            *(() for _ in self._texts[len(told) :]),
        )
        # Whether a literal asks for care, or does so where no prefix tells kind and severity.
        care, marks = set(CARE), set(MARKS)
        self.care: Final = tuple(text in care for text in self._texts)
        self.marks: Final = tuple(text in marks for text in self._texts)
        # The alternatives that digits decide, by the places of their events.
        self.seeing: Final = {
            self.place[name]: mask for e in literals for name, mask in zip(e.events, e.seeing, strict=True) if mask
        }

    @cached_property
    def backend(self) -> Backend:
        """What finds the literals, and the texts that ask for care. A literal's number is its place in `announcements`."""
        return choose(self._backend, self._texts)

    @cached_property
    def _small(self) -> Backend:
        """What finds them in the first bytes: it is built in no time."""
        return AhoCorasick(self._texts)

    def hits(self, text: Bytes) -> Hits:
        """Return (offset of its last byte, number) of each literal in a text, overlapping ones included, in order of offset."""
        return self._fitting(len(text)).hits(text)

    def tell(self, text: Bytes, taker: Taker) -> None:
        """Hand the hits in a text to a taker."""
        self._fitting(len(text)).tell(text, taker)

    @property
    def frees_threads(self) -> bool:
        """Whether other threads may go on while one looks through a block."""
        return self.backend.frees_threads

    def expect(self, size: int) -> None:
        """Say that so many bytes will come at least: where that is worth it, the chosen backend takes the first ones too."""
        if size >= WORTH:
            self._read = WORTH

    def _fitting(self, size: int) -> Backend:
        """Return the backend for so many more bytes."""
        if self._read < WORTH:
            self._read += size
        return self._small if self._read < WORTH else self.backend

    @cached_property
    def flags(self) -> bytes:
        """What each literal says, as bits: 1 it asks for care, 2 it does so where no prefix tells, 4 it announces."""
        return bytes(
            care | mark << 1 | bool(places) << 2
            for care, mark, places in zip(self.care, self.marks, self.announcements, strict=True)
        )

    @cached_property
    def announcements(self) -> tuple[tuple[int, ...], ...]:
        """The places of the events that each literal announces."""
        return tuple(tuple(place for place, _ in found) for found in self._announced)

    def announced(self, text: bytes) -> Iterator[tuple[int, Announced]]:
        """Yield (offset of its last byte, what it announces) for each literal in the text, overlapping ones included."""
        announced = self._announced
        return ((offset, announced[number]) for offset, number in self.hits(text) if announced[number])

    def is_blind(self, place: int, line: bytes) -> bool:
        """Whether an event is known to match all lines that differ from this one only in digits alike."""
        return place not in self.seeing or not self.pattern(place).may_match_others(line, self.seeing[place])

    def pattern(self, place: int) -> EventPattern:
        """Return the pattern of the event at this place."""
        found = self._patterns.get(place)
        if found is None:
            found = self._patterns[place] = trusted_event(self.events[place], self._types)
        return found


# ------------------------------------------------------------------ saved form


def dumps(program: Program) -> str:
    """Return the program as text: a header line with format, version, size and checksum, then the body line."""
    body = json.dumps(_CONVERTER.unstructure(program), ensure_ascii=True, separators=(",", ":"))
    header = {"format": FORMAT, "version": VERSION, "bytes": len(body), "checksum": _checksum(body)}
    return f"{json.dumps(header)}\n{body}\n"


def loads(text: str, types: Types = BUILTIN) -> Program:
    """Return the program that `dumps` wrote.

    Args:
        text: the saved program.
        types: the capture types that are installed.

    Raises:
        ProgramError: the text is no program, of another version, cut short or changed, or needs a type that is missing.
    """
    first, _, rest = text.partition("\n")
    header = _header(first)
    body = rest.removesuffix("\n")
    if len(body) < header["bytes"]:
        raise ProgramError(f"the program is cut short: {len(body)} of {header['bytes']} bytes are there; save it again")
    if _checksum(body) != header["checksum"]:
        raise ProgramError("the program was changed after it was saved (its checksum is off); compile the rules again")
    try:
        program = _CONVERTER.structure(json.loads(body), Program)
    except MISFITS as error:
        raise ProgramError(f"the program's content can't be read: {error!r:.200}") from error
    _check_types(program, types)
    return evolve(program, types=types)


def save_program(program: Program, path: str | Path) -> None:
    """Write the program to a file."""
    Path(path).write_text(dumps(program), encoding="ascii", newline="\n")


def load_program(path: str | Path, types: Types = BUILTIN) -> Program:
    """Read a program that `save_program` wrote, without the parser.

    Args:
        path: the file.
        types: the capture types that are installed; pass those of plug-ins too.

    Raises:
        ProgramError: the file can't be read or used; the message says why.
    """
    try:
        text = Path(path).read_text(encoding="ascii")
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ProgramError(f"{path}: this is not a saved program") from error
    try:
        return loads(text, types)
    except ProgramError as error:
        raise ProgramError(f"{path}: {error}") from error


def _header(line: str) -> Mapping[str, Any]:
    try:
        header = json.loads(line)
    except ValueError as error:
        raise ProgramError("this is not a saved program") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ProgramError("this is not a saved program")
    if header.get("version") != VERSION:
        raise ProgramError(
            f"the program has version {header.get('version')!r}, this release reads version {VERSION}; compile the rules again"
        )
    if not isinstance(header.get("bytes"), int) or not isinstance(header.get("checksum"), str):
        raise ProgramError("the program's header is damaged; compile the rules again")
    return header


def _check_types(program: Program, types: Types) -> None:
    used = {kind for e in program.events for _, kind in e.captures}
    for event in program.events:
        parts = (p for a in event.alternatives for s in a.sequences for p in s.parts)
        for part in parts:
            if isinstance(part, Template):
                used |= {piece.type for piece in part.pieces if not isinstance(piece, str)}
            else:
                used |= {kind for _, kind in part.types}
    missing = sorted(used - set(types))
    if missing:
        raise ProgramError(f"the program needs the capture types {', '.join(missing)} of plug-ins that are not installed")


def _checksum(body: str) -> str:
    return "sha256:" + hashlib.sha256(body.encode()).hexdigest()


_CONVERTER: Final = make_converter()
