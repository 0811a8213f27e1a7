"""What the rules that exist see in logs: events by line, errors that none of them knows, the line most like a message."""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from denpex_rules.collection import Collection
from denpex_rules.lines import LineSplitter
from denpex_rules.places import hints_for
from denpex_rules.program import Program
from denpex_rules.sighting import ErrorLine, Scan
from denpex_rules.sources import Source

COMPARED: Final = 500  # characters of a line that is compared with a message
CANDIDATES: Final = 2_000  # lines of a log that are compared, those that share a word with the message
SAME: Final = 5  # records of one shape that are taken, each from another log
GENERIC: Final = frozenset({"train.python_exception"})  # classes whose rules know no more than that a program raised something


def survey(sources: Iterable[Source], program: Program) -> Scan:
    """Return what the events of a program see in sources."""
    collection = Collection(program)
    for source in sources:
        collection.begin(source.name, source.hints, source.mtime_ns)
        for chunk in source.open():
            collection.feed(source.name, chunk)
        collection.end(source.name)
    return collection.close()


def survey_bytes(logs: Mapping[str, bytes], program: Program) -> Scan:
    """Return what the events of a program see in logs that are in memory, by name."""
    collection = Collection(program)
    for name, data in logs.items():
        collection.begin(name, hints_for(name))
        collection.feed(name, data)
    return collection.close()


def events_by_line(scan: Scan) -> Mapping[tuple[str, int], frozenset[str]]:
    """Return the events that were seen, by log and line."""
    found: dict[tuple[str, int], set[str]] = {}
    for sighting in scan.sightings:
        found.setdefault((sighting.source, sighting.line), set()).add(sighting.event)
    return {place: frozenset(events) for place, events in found.items()}


def unknown_errors(scan: Scan, program: Program) -> tuple[ErrorLine, ...]:
    """Return the earliest error that starts no rule, and those of its shape in other logs; nothing where all errors start one.

    A rule that knows any exception explains none: what it says is what the line says.
    """
    starts = {rule.trigger.event for rule in program.rules if rule.cls not in GENERIC}
    records = {(s.emitter, s.ordinal) for s in scan.sightings if s.event in starts}
    errors = [e for e in scan.errors if (e.emitter, e.ordinal) not in records]
    errors.sort(key=lambda e: (not e.instant.known, e.instant.lo, e.emitter.source, e.line))
    same = [e for e in errors if e.template == errors[0].template]
    return tuple({e.emitter.source: e for e in reversed(same)}.values())[::-1][:SAME]


def symptoms(scan: Scan, program: Program) -> tuple[tuple[str, int], ...]:
    """Return where each event that starts the rule of a symptom was first seen, by log and line."""
    effects = {c.id for c in program.classes if c.role == "symptom"}
    starts = {rule.trigger.event for rule in program.rules if rule.cls in effects}
    first: dict[str, tuple[str, int]] = {}
    for sighting in sorted(scan.sightings, key=lambda s: (not s.instant.known, s.instant.lo, s.source, s.line)):
        if sighting.event in starts and ":lib." in sighting.event:
            first.setdefault(sighting.event, (sighting.source, sighting.line))
    return tuple(dict.fromkeys(first.values()))


def nearest_line(source: Source, message: str, words: Sized[str], least: float) -> int:
    """Return the number of the line that is most like a message; 0 where none is like it by at least `least`."""
    needles = [word.encode() for word in words]
    splitter = LineSplitter()
    best, tried, degree = 0, 0, least
    for chunk in source.open():
        for line in splitter.feed(chunk):
            lower = line.data.lower()
            if tried < CANDIDATES and any(needle in lower for needle in needles):
                tried += 1
                best, degree = max((best, degree), (line.number, likeness(message, line.data)), key=lambda found: found[1])
    for line in splitter.finish():
        best, degree = max((best, degree), (line.number, likeness(message, line.data)), key=lambda found: found[1])
    return best


def likeness(message: str, line: bytes) -> float:
    """Return how much of a message stands in a line, in order, from 0 to 1."""
    text = line[: 4 * COMPARED].decode("utf-8", "replace")[:COMPARED]
    blocks: Sequence[tuple[int, int, int]] = SequenceMatcher(None, message[:COMPARED], text, autojunk=False).get_matching_blocks()
    return sum(size for _, _, size in blocks if size > 1) / max(1, len(message[:COMPARED]))
