"""Sightings in canonical order, each record once: copies are dropped, and what is left is put in order event by event.

Most events of a large scan are asked for by no rule that has a chance to match, so each is put in order when it is first asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from attrs import Factory, define

from denpex_rules.clock import Frame
from denpex_rules.sighting import Emitter, Sighting

_Stream = tuple[Emitter, int | None]  # what an emitter said in one attempt


@define
class Series:
    """All sightings of a collection by event."""

    _found: dict[str, list[Sighting]]  # as they came, by event
    _ordered: dict[str, tuple[Sighting, ...]] = Factory(dict)
    _by_field: dict[tuple[str, str], dict[object, list[Sighting]]] = Factory(dict)
    _by_emitter: dict[str, dict[Emitter, list[Sighting]]] = Factory(dict)
    _by_clock: dict[str, dict[Frame, list[Sighting]]] = Factory(dict)

    def of(self, event: str) -> tuple[Sighting, ...]:
        """Return an event's sightings in canonical order, each record once."""
        ordered = self._ordered.get(event)
        if ordered is None:
            ordered = self._ordered[event] = tuple(in_order(once(self._found.get(event, ()))))
        return ordered

    def by_field(self, event: str, name: str) -> Mapping[object, list[Sighting]]:
        """Return an event's sightings by the value of a field, None where their lines don't tell it."""
        table = self._by_field.get((event, name))
        if table is None:
            table = self._by_field[event, name] = _grouped(self.of(event), lambda s: s.told(name))
        return table

    def by_emitter(self, event: str) -> Mapping[Emitter, list[Sighting]]:
        """Return an event's sightings by their emitter."""
        table = self._by_emitter.get(event)
        if table is None:
            table = self._by_emitter[event] = _grouped(self.of(event), lambda s: s.emitter)
        return table

    def by_clock(self, event: str) -> Mapping[Frame, list[Sighting]]:
        """Return an event's sightings by what their instants are compared by, each by the begin of the instant."""
        table = self._by_clock.get(event)
        if table is None:
            known = sorted((s for s in self.of(event) if s.instant.known), key=begin)
            table = self._by_clock[event] = _grouped(known, lambda s: s.instant.frame)
        return table

    @property
    def events(self) -> tuple[str, ...]:
        """The ids of the events that were seen, sorted."""
        return tuple(self._found)

    def __iter__(self) -> Iterator[Sighting]:
        """Yield all sightings, event by event."""
        for event in self._found:
            yield from self.of(event)

    @property
    def raw(self) -> Iterator[Sighting]:
        """All sightings as they came, copies of single lines too: who speaks in them is the same."""
        return (s for found in self._found.values() for s in found)


_Key = TypeVar("_Key")


def _grouped(sightings: Iterable[Sighting], key: Callable[[Sighting], _Key]) -> dict[_Key, list[Sighting]]:
    table: dict[_Key, list[Sighting]] = {}
    for sighting in sightings:
        table.setdefault(key(sighting), []).append(sighting)
    return table


def series(sightings: Iterable[Sighting]) -> Series:
    """Return sightings by event, without whole copies of a stream."""
    found: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in originals(sightings):
        found[sighting.event].append(sighting)
    return Series(dict(sorted(found.items())))


# ------------------------------------------------------------------ order


def begin(sighting: Sighting) -> int:
    """Return when a sighting was at the earliest."""
    return sighting.instant.lo


def in_order(sightings: Iterable[Sighting]) -> list[Sighting]:
    """Return sightings in canonical order: by time, then by what their emitters say, then by line order within an emitter.

    The place in a file decides only within one emitter and between records that nothing else tells apart.
    """
    groups: dict[tuple[bool, int, int], dict[Emitter, list[Sighting]]] = defaultdict(lambda: defaultdict(list))
    for sighting in sightings:
        instant = sighting.instant
        groups[not instant.known, instant.lo, instant.hi][sighting.emitter].append(sighting)
    ordered: list[Sighting] = []
    for _, emitters in sorted(groups.items()):
        lines = [found if len(found) == 1 else sorted(found, key=_line_key) for found in emitters.values()]
        for found in lines if len(lines) == 1 else sorted(lines, key=_emitter_key):
            ordered.extend(found)
    return ordered


def _line_key(sighting: Sighting) -> tuple[int, int, str]:
    return sighting.ordinal, sighting.start, sighting.event


def _emitter_key(lines: list[Sighting]) -> tuple[object, ...]:
    first = lines[0]
    rank, host = first.actor.rank, first.actor.host
    return (rank is None, rank or 0, host is None, host or "", first.text, first.emitter.source, first.emitter.label)


# ------------------------------------------------------------------ copies


def originals(sightings: Iterable[Sighting]) -> Iterable[Sighting]:
    """Drop whole copies of a stream: a launcher tees a rank's output into its own log and into the rank's file.

    An emitter is a copy when it speaks for the same rank as another one and all that it shows, the other shows too. Keeping only
    one of them keeps line order as proof between all sightings of that rank.
    """
    sightings = tuple(sightings)
    if len({s.emitter.source for s in sightings}) < 2:  # a copy stands in another file
        return sightings
    streams: dict[_Stream, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        streams[sighting.emitter, sighting.actor.attempt].append(sighting)
    by_rank: dict[int, list[_Stream]] = defaultdict(list)
    for stream, found in streams.items():
        ranks = {s.actor.rank for s in found}
        if len(ranks) == 1 and (rank := ranks.pop()) is not None:
            by_rank[rank].append(stream)
    copies = {copy for alike in by_rank.values() if len(alike) > 1 for copy in _copies(alike, streams)}
    return [s for stream, found in streams.items() if stream not in copies for s in found]


def _copies(alike: list[_Stream], streams: dict[_Stream, list[Sighting]]) -> set[_Stream]:
    """Return those of one rank's streams that show nothing that another one does not show."""
    alike = sorted(alike, key=lambda one: (-len(streams[one]), one[0].source, one[0].label, one[1] or 0))
    contents = [Counter(map(_content, streams[stream])) for stream in alike]
    copies: set[_Stream] = set()
    for i, stream in enumerate(alike):
        kept = (k for k in range(i) if alike[k] not in copies and _may_be_copies(streams[stream], streams[alike[k]]))
        if any(contents[i] <= contents[k] for k in kept):
            copies.add(stream)
    return copies


def _may_be_copies(a: list[Sighting], b: list[Sighting]) -> bool:
    """Whether two streams of one rank stand in different files and name no different jobs or attempts."""
    one, two = a[0].actor, b[0].actor
    jobs = one.job is None or two.job is None or one.job == two.job
    attempts = one.attempt is None or two.attempt is None or one.attempt == two.attempt
    return a[0].source != b[0].source and jobs and attempts


def _content(sighting: Sighting) -> object:
    return (sighting.event, sighting.instant, tuple(sorted(sighting.fields.items())), sighting.text)


def once(sightings: Iterable[Sighting]) -> Iterable[Sighting]:
    """Drop copies: a line that was tee'd into two files is one record; the same line twice in one file is two.

    Untimed lines are kept, nothing proves them equal.
    """
    texts: dict[str, list[Sighting]] = defaultdict(list)
    for sighting in sightings:
        texts[sighting.text].append(sighting)
    for alike in texts.values():
        yield from alike if len(alike) == 1 or len({s.emitter for s in alike}) == 1 else _once(alike)


def _once(alike: Iterable[Sighting]) -> Iterable[Sighting]:
    """Drop the copies among lines of one text."""
    copies: dict[tuple[object, ...], dict[Emitter, list[Sighting]]] = defaultdict(lambda: defaultdict(list))
    for sighting in alike:
        if not sighting.instant.known:
            yield sighting
            continue
        fields = tuple(sorted(sighting.fields.items()))
        copies[sighting.instant, sighting.actor, fields][sighting.emitter].append(sighting)
    for emitters in copies.values():
        yield from min(emitters.items(), key=lambda item: (-len(item[1]), item[0].source, item[0].label))[1]
