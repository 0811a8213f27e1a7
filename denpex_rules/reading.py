"""Reads sources into a scan, one after the other or several at once in processes of their own.

A process reads whole sources; what a scan keeps of a source travels back, not its lines. The result is the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, Final

from attrs import define, evolve, field, frozen

from denpex_rules.collection import Collection
from denpex_rules.errors import UsageError
from denpex_rules.judgement import Options
from denpex_rules.program import Program
from denpex_rules.recorder import Size, State
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import Part, Scan
from denpex_rules.sources import Source

WORTH: Final = 16 << 20  # bytes from which on further processes are worth their start
AHEAD: Final = 2  # sources under way for each process

# Imported where several processes are worth it.
_FUTURES: Final = "concurrent.futures"
_PROCESSES: Final = "multiprocessing"

OnRead = Callable[[int, int], None]


def silent(size: int, total: int) -> None:
    """Take no notice of how many bytes were read."""
    del size, total


@frozen
class _Done:
    """What a process hands back of a source: what is kept of it, and what its stream told."""

    state: State
    size: int
    notes: tuple[str, ...]
    truncated: bool
    parts: tuple[Part, ...]


@define
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
    _parts: dict[str, tuple[Part, ...]] = field(factory=dict, init=False)
    _total: int = field(default=0, init=False)

    def scan(self, sources: Sequence[Source]) -> Scan:
        """Read all sources. Raises UsageError when a process that reads was killed."""
        collection = Collection(self.program)
        self._total = sum(map(_size, sources))
        jobs = self.jobs or _worthwhile(sources)
        apart = [source for source in sources if jobs > 1 and _is_apart(source)]
        apart = apart if len(apart) > 1 else []
        if apart:
            self._read_apart(collection, apart, min(jobs, len(apart)))
        taken_apart = set(apart)
        for source in sources:
            if source not in taken_apart:
                self._read(collection, source)
        taken = collection.close()
        return evolve(taken, sources=tuple(evolve(s, parts=self._parts[s.source]) for s in taken.sources))

    def _read(self, collection: Collection, source: Source) -> None:
        collection.begin(source.name, self.options.hinted(source.hints), source.mtime_ns)
        for chunk in source.open():
            collection.feed(source.name, chunk)
            self.on_read(len(chunk), self._total)
        for text in source.notes:
            collection.note(source.name, text, truncated=source.truncated)
        collection.end(source.name)
        self._parts[source.name] = tuple(source.parts)

    def _read_apart(self, collection: Collection, sources: Sequence[Source], jobs: int) -> None:
        """Read sources in other processes, large ones first; few are under way at a time."""
        order = iter(sorted(sources, key=lambda source: -_size(source)))
        futures: Any = import_module(_FUTURES)
        waiting: dict[Any, Source] = {}  # by their futures
        # A forked process has the program and the sources already: neither is sent to it.
        _WORK.append((self.program, self.options, sources))
        try:
            with futures.ProcessPoolExecutor(jobs, mp_context=import_module(_PROCESSES).get_context("fork")) as pool:
                while True:
                    for source in islice(order, AHEAD * jobs - len(waiting)):
                        waiting[pool.submit(_read_one, sources.index(source), collection.limit)] = source
                    if not waiting:
                        return
                    for future in futures.wait(waiting, return_when=futures.FIRST_COMPLETED).done:
                        self._take(collection, waiting.pop(future), future.result())
        except futures.BrokenExecutor as error:
            raise UsageError("a process that read logs was killed; read with --jobs 1 to need less memory") from error
        finally:
            _WORK.pop()

    def _take(self, collection: Collection, source: Source, done: _Done) -> None:
        hints = self.options.hinted(source.hints)
        collection.adopt(source.name, hints, source.mtime_ns, done.state)
        for text in done.notes:
            collection.note(source.name, text, truncated=done.truncated)
        self._parts[source.name] = done.parts
        self.on_read(done.size, self._total)


# What the processes inherit: the program, the options and the sources of the reading that started them.
_WORK: Final[list[tuple[Program, Options, Sequence[Source]]]] = []


def _read_one(number: int, limit: Size) -> _Done:
    """Read one source in a process of its own."""
    program, options, sources = _WORK[-1]
    source = sources[number]
    scanner = SourceScanner(program, source.name, options.hinted(source.hints), mtime=source.mtime_ns)
    scanner.shrink(limit)
    size = 0
    for chunk in source.open():
        scanner.feed(chunk)
        size += len(chunk)
    scanner.end()
    return _Done(scanner.state, size, tuple(source.notes), source.truncated, tuple(source.parts))


def _worthwhile(sources: Sequence[Source]) -> int:
    """Return how many processes are worth their start."""
    apart = [source for source in sources if _is_apart(source)]
    if sum(map(_size, apart)) < WORTH or "fork" not in import_module(_PROCESSES).get_all_start_methods():
        return 1
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, len(apart))


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
