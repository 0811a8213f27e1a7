"""Reads sources into a scan, in one process or in several at once.

A process reads whole sources; what a scan keeps of them travels back once, not their lines. The result is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import chain
from operator import attrgetter
from typing import Final

from attrs import define, evolve, field, frozen

from denpex_rules.collection import Collection, least, tighter, total
from denpex_rules.crew import MOST, Crew, Tell, can_fork
from denpex_rules.finder import finder
from denpex_rules.judgement import Options
from denpex_rules.parcel import Parcel, pack, unpack
from denpex_rules.program import Program
from denpex_rules.readahead import Chunk, read_ahead
from denpex_rules.recorder import Size
from denpex_rules.sighting import Part, Scan
from denpex_rules.sources import CHUNK, Source

AHEAD: Final = 8 << 20  # bytes of a file from which on reading it ahead is worth a thread
WORTH: Final = 16 << 20  # bytes from which on further processes are worth their start
BATCHES: Final = 16  # of sources for each process, some more where that is uneven

OnRead = Callable[[int, int], None]


def silent(size: int, total: int) -> None:
    """Take no notice of how many bytes were read."""
    del size, total


@frozen
class _Kept:
    """How much a process keeps of its sources, and how much it lets each of them keep."""

    kept: Size
    limit: Size


@define
class _Share:
    """The sources that one process reads."""

    options: Options
    collection: Collection
    tell: Tell  # of bytes that were read
    ahead: bool  # whether another thread may read large sources ahead
    _parts: dict[str, tuple[Part, ...]] = field(factory=dict, init=False)

    def read(self, source: Source) -> None:
        collection, name = self.collection, source.name
        collection.begin(name, self.options.hinted(source.hints), source.mtime_ns)
        with closing(self._chunks(source)) as chunks:
            for chunk, found in chunks:
                collection.feed(name, chunk, found)
                self.tell(len(chunk))
        for text in source.notes:
            collection.note(name, text, truncated=source.truncated)
        collection.end(name)
        if source.parts:
            self._parts[name] = tuple(source.parts)

    def _chunks(self, source: Source) -> Generator[Chunk]:
        """Yield the bytes of a source, each chunk with the hits in it where it was looked through ahead."""
        if self.ahead and _size(source) >= AHEAD:
            yield from read_ahead(source.open(), finder(self.collection.program.matcher))
        else:
            for chunk in source.open():
                yield chunk, None

    def shrink(self, limit: Size) -> _Kept:
        """Keep no more of each source; return what is kept."""
        self.collection.shrink(limit)
        return _Kept(self.collection.kept, self.collection.limit)

    def close(self) -> Scan:
        taken = self.collection.close()
        if not self._parts:
            return taken
        sources = (evolve(s, parts=self._parts[s.source]) if s.source in self._parts else s for s in taken.sources)
        return evolve(taken, sources=tuple(sources))


@frozen
class Reading:
    """One scan of many sources.

    Args:
        program: the events to look for.
        options: how sources are read.
        jobs: how many processes read; 0: as many as there are processors, where that is worth it.
        on_read: is told of each number of bytes that was read, and of how many the files hold; unpacked there may be more.
    """

    program: Program
    options: Options
    jobs: int = 1
    on_read: OnRead = silent

    def scan(self, sources: Sequence[Source]) -> Scan:
        """Read all sources. Raises UsageError when a process that reads was killed."""
        size = sum(map(_size, sources))
        self.program.matcher.expect(size)
        jobs = self.jobs or _worthwhile(sources)
        apart = [source for source in sources if jobs > 1 and _is_apart(source)]
        alone = set(apart) if len(apart) > 1 else set()
        share = self._share(lambda read: self.on_read(read, size), ahead=not alone and _processors() > 1)
        for source in sources:
            if source not in alone:
                share.read(source)
        return self._together(share, _dealt(apart, jobs), min(jobs, len(apart))) if alone else share.close()

    def _share(self, tell: Tell, *, ahead: bool = False) -> _Share:
        return _Share(self.options, Collection(self.program), tell, ahead)

    def _together(self, share: _Share, batches: Sequence[Sequence[Source]], jobs: int) -> Scan:
        """Read batches of sources in this process and others."""
        _ = self.program.matcher.backend  # built once, for all processes

        def help_out(numbers: Iterator[int], tell: Tell) -> Callable[[Size | None], _Kept | Parcel]:
            meter = _Meter(tell)
            mine = self._share(meter.add)
            for number in numbers:
                for source in batches[number]:
                    mine.read(source)
                meter.tell()
            return lambda limit: pack(mine.close()) if limit is None else mine.shrink(limit)

        crew = Crew(jobs - 1, len(batches), help_out, share.tell)
        try:
            for number in crew.batches():
                for source in batches[number]:
                    share.read(source)
            _settle(share, crew)
            crew.ask(None)
            scan = share.close()
            return _united([scan, *map(unpack, crew.answers())])
        finally:
            crew.end()


@define
class _Meter:
    """Tells of bytes that were read, but not of every few."""

    _tell: Tell
    _read: int = 0

    def add(self, size: int) -> None:
        self._read += size
        if self._read >= CHUNK:
            self.tell()

    def tell(self) -> None:
        self._tell(self._read)
        self._read = 0


def _settle(share: _Share, crew: Crew) -> None:
    """Let all processes keep as little of each source as one alone would, had it read all of them."""
    limit = share.collection.limit
    while True:
        crew.ask(limit)
        kept: list[_Kept] = [share.shrink(limit), *crew.answers()]
        lower = least(*(k.limit for k in kept))
        if lower == limit:  # in all processes
            lower = tighter(total(k.kept for k in kept), limit)
        if lower == limit:
            return
        limit = lower


def _united(scans: Sequence[Scan]) -> Scan:
    """Return scans of different sources as one, in the order of their names."""
    return Scan(
        tuple(sorted(chain.from_iterable(s.sightings for s in scans), key=attrgetter("emitter.source"))),
        tuple(sorted(chain.from_iterable(s.sources for s in scans), key=attrgetter("source"))),
        tuple(sorted(chain.from_iterable(s.errors for s in scans), key=attrgetter("emitter.source"))),
    )


def _dealt(sources: Sequence[Source], jobs: int) -> list[list[Source]]:
    """Return sources in batches, large ones first: a large source is one of its own, tiny ones come many together."""
    parts = min(BATCHES * jobs, MOST // 3)  # by bytes twice as many at most, by numbers as many again
    most = sum(map(_size, sources)) / parts
    number = -(-len(sources) // parts)
    batches: list[list[Source]] = []
    room = 0.0
    for source in sorted(sources, key=_size, reverse=True):
        size = _size(source)
        if not batches or size > room or len(batches[-1]) == number:
            batches.append([])
            room = most
        batches[-1].append(source)
        room -= size
    return batches


def _worthwhile(sources: Sequence[Source]) -> int:
    """Return how many processes are worth their start."""
    apart = [source for source in sources if _is_apart(source)]
    if sum(map(_size, apart)) < WORTH or not can_fork():
        return 1
    return min(_processors(), len(apart))


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_apart(source: Source) -> bool:
    """Whether a source is read from files that nothing else reads: members of an archive share its stream."""
    return bool(source.opener or source.pieces) and all(path is not None for path in _paths(source))


def _paths(source: Source) -> Iterator[object]:
    yield from (piece.path for piece in source.pieces) if source.pieces else (source.path,)


def _size(source: Source) -> int:
    """Return how many bytes the files of a source hold; 0 for what can't be told."""
    total = 0
    for part in source.pieces or (source,):
        try:
            total += part.path.stat().st_size if part.path is not None else 0
        except OSError:
            continue
    return total
