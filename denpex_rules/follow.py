"""Following files that grow: what is new in them, in content order, through every way in which logs are rotated.

A log is followed over its segments. One is told by its inode and by its first bytes, whatever it is called: it may be renamed,
copied and truncated, or packed, and is never read twice. A rotated file whose connection with a log nothing shows is a log of
its own.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from itertools import count as count_from
from pathlib import Path
from typing import Final

from attrs import Factory, define, evolve, frozen

from denpex_rules import rotation, sources
from denpex_rules.bookmark import Log
from denpex_rules.errors import UsageError
from denpex_rules.packed import DAMAGE
from denpex_rules.places import hints_for
from denpex_rules.rotation import CURRENT, Age
from denpex_rules.segments import Segment, Status, is_packed_file, is_whole
from denpex_rules.session import Session
from denpex_rules.sighting import Emitter, Part, Scan, SourceCoverage
from denpex_rules.sources import Source

Listing = dict[Path, Status]


@define(eq=False)
class _Log:
    """One followed log; `family` is the path of the log that its files are named after."""

    source: str
    path: Path
    family: Path
    segments: list[Segment] = Factory(list)
    places: list[Part] = Factory(list)
    lines: int = 0
    bytes: int = 0
    doubted: bool = False  # its file was not found once: a rename may have been under way


@frozen
class _Sibling:
    """One file of a family."""

    age: Age
    path: Path
    status: Status

    @property
    def key(self) -> tuple[Path, int, int, int]:
        """What changes when the file may be another one."""
        return self.path, self.status.st_dev, self.status.st_ino, self.status.st_mtime_ns


Families = dict[Path, list[_Sibling]]


class Follower:
    """Reads what is new in files and folders into a session."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]], session: Session, logs: Iterable[Log] = ()) -> None:
        """Begin.

        Args:
            paths: files and folders, as `sources.expand` takes them; standard input can't be followed.
            session: takes what is read.
            logs: what an earlier run followed; it is read again, so that the session knows it.

        Raises:
            UsageError: a path does not exist, or is standard input.
        """
        self._given = [Path(p) for p in paths]
        self._session = session
        self._logs: list[_Log] = []
        self._names: set[str] = set()
        self._before: dict[Path, tuple[int, int]] = {}  # size and modification time at the last look
        self._settled: set[Path] = set()  # what is not followed, or read already
        self._claimed: set[Path] = set()  # files that are segments of a log
        self._moving: set[Path] = set()  # files of logs that are being rotated
        self._checked: dict[tuple[Path, int, int, int], Segment | None] = {}
        self._lost: dict[str, list[int]] = {}  # of logs of an earlier run: which of their segments are gone
        self._resumed = {Path(log.path): log for log in logs}
        for path in self._given:
            if str(path) == sources.DASH:
                raise UsageError("standard input can't be followed: it is no file; scan it without --follow")
            if not path.exists() and path not in self._resumed:
                raise UsageError(f"no such file or folder: {path}")

    # ---- what a caller asks for

    def poll(self, *, last: bool = False) -> int:
        """Read what is new and return how many bytes that was; `last` takes what is still being written as it is."""
        listing = self._listing()
        families = _families(listing)
        steady = {p for p, s in listing.items() if last or self._before.get(p) == (s.st_size, s.st_mtime_ns)}
        self._before = {p: (s.st_size, s.st_mtime_ns) for p, s in listing.items()}
        count = self._resume(families) if self._resumed else 0
        self._identify(families, steady)
        self._moving = set()
        for log in self._logs:
            count += self._look(log, listing, families.get(log.family, []), steady)
        return count + self._discover(listing, steady)

    def marks(self) -> tuple[Log, ...]:
        """Return what was read of every log, to be written down."""
        return tuple(Log(log.source, str(log.path), tuple(s.mark for s in log.segments)) for log in self._logs)

    def missing(self, scan: Scan) -> Scan:
        """Return the part of an earlier run's scan that can't be read again: call it after the first poll."""
        found, names = Scan(), {source.source for source in scan.sources}
        for source in scan.sources:
            spans = self._gone(source)
            if spans:
                name = source.source if _GONE.search(source.source) else _unlike(f"{source.source} (gone)", names)
                names.add(name)
                found = found.merge(_cut(scan, source, spans, name))
        return found

    def _gone(self, source: SourceCoverage) -> tuple[range, ...]:
        """Return in which bytes of a source what was sighted can't be read again."""
        if source.source not in self._names:
            return (range(source.bytes + 1),)
        begins = [*(place.bytes for place in source.parts), source.bytes + 1] if source.parts else [0, source.bytes + 1]
        return tuple(range(begins[i], begins[i + 1]) for i in self._lost.get(source.source, ()) if i + 1 < len(begins))

    # ---- what is there

    def _listing(self) -> Listing:
        found: Listing = {}
        for given in self._given:
            if given.is_dir():
                for root, _, names in os.walk(given):
                    found.update(_statuses(Path(root) / name for name in names))
            else:
                found.update(_statuses([given, *_around(given)]))
        return found

    def _identify(self, families: Families, steady: set[Path]) -> None:
        """Find out which segment each file is, and where each segment is now."""
        checked: dict[tuple[Path, int, int, int], Segment | None] = {}
        self._claimed = set()
        members: dict[Path, list[Segment]] = {}
        for log in self._logs:
            members.setdefault(log.family, []).extend(log.segments)
        for family, segments in members.items():
            self._match(families.get(family, []), segments, steady, checked)
        self._checked = checked
        for log in self._logs:
            self._place(log)

    def _match(
        self,
        siblings: list[_Sibling],
        segments: list[Segment],
        steady: set[Path],
        checked: dict[tuple[Path, int, int, int], Segment | None],
    ) -> None:
        homes = {s.home: s for s in segments if s.home is not None}
        found: dict[int, Path] = {}
        rest = []
        for sibling in reversed(siblings):  # the youngest first: short files may look like several
            segment = homes.get(sibling.path)
            if segment is not None and segment.stays(sibling.path, sibling.status):
                found[id(segment)] = sibling.path
                self._claimed.add(sibling.path)
            else:
                rest.append(sibling)
        for sibling in rest:
            if sibling.key in self._checked:
                segment = self._checked[sibling.key]
            elif sibling.path not in steady and is_packed_file(sibling.path):
                continue
            else:
                likely = [s for s in reversed(segments) if id(s) not in found] + [s for s in segments if id(s) in found]
                segment = next((s for s in likely if s.is_in(sibling.path, sibling.status)), None)
            checked[sibling.key] = segment
            if segment is not None:
                self._claimed.add(sibling.path)
                found.setdefault(id(segment), sibling.path)
        for segment in segments:
            segment.home = found.get(id(segment))
            if segment.home is not None:
                segment.name = _renamed(segment.name, segment.home)

    def _discover(self, listing: Listing, steady: set[Path]) -> int:
        """Begin what was not seen before."""
        taken = self._claimed | self._moving
        if listing.keys() <= taken | self._settled:
            return 0
        fresh = [s for s in self._there() if s.name not in self._names and (s.path is None or s.path not in taken)]
        unready = {_family(s.path) for s in fresh if s.path is not None and s.path not in steady and is_whole(s.path)}
        waiting = [s for s in fresh if s.path is not None and _family(s.path) in unready]  # a log waits for its packed parts
        count = 0
        for source in sources.joined(s for s in fresh if s not in waiting):
            count += self._begin(source, listing)
        self._settled = set(listing) - {s.path for s in waiting if s.path is not None} - self._moving
        return count

    def _there(self) -> list[Source]:
        return sources.apart([given for given in self._given if given.exists()], alone=len(self._given) == 1)

    def _begin(self, source: Source, listing: Listing) -> int:
        self._names |= {source.name, *(piece.name for piece in source.pieces)}
        self._session.begin(source.name, source.hints, source.mtime_ns)
        path = source.path
        known = path is not None and (source.pieces or source.opener is not None)
        if path is None or not known or (rotation.rotated(str(path)) is None and not source.pieces and is_whole(path)):
            return self._read_whole(source)
        log = _Log(source.name, path, _family(path))
        self._logs.append(log)
        count = 0
        for piece in source.pieces or (source,):
            status = listing.get(piece.path) if piece.path is not None else None
            if piece.path is not None and status is not None:
                count += self._append(log, Segment(piece.name, status.st_dev, status.st_ino, piece.path))
                self._claimed.add(piece.path)
        return count

    def _read_whole(self, source: Source) -> int:
        """Read what does not grow: a packed file, a member of an archive, a document."""
        count = 0
        for chunk in source.open():
            self._session.feed(source.name, chunk)
            count += len(chunk)
        for text in source.notes:
            self._session.note(source.name, text, truncated=source.truncated)
        return count

    # ---- one log

    def _look(self, log: _Log, listing: Listing, siblings: list[_Sibling], steady: set[Path]) -> int:
        """Read what is new in a log, whatever happened to its files."""
        segment = log.segments[-1] if log.segments else None
        base = listing.get(log.path)
        if segment is not None and segment.home is not None:
            status = listing[segment.home]
            settled = segment.home == log.path or log.path != log.family
            fresh = [s for s in siblings if s.path not in self._claimed and s.path not in self._settled]
            if settled and (segment.read or not fresh):
                log.doubted = False
                if (status.st_size, status.st_mtime_ns) == (segment.read, segment.mtime) or segment.home not in steady | {log.path}:
                    return 0
                if is_packed_file(segment.home) or segment.goes_on():
                    return self._read(log, segment)
        if log.path != log.family and (base is None or log.path in self._claimed - {segment.home if segment else None}):
            return 0  # a rotated file that is gone, or is called otherwise now and was read to its end
        before = len(log.segments)
        count = self._rotate(log, base, siblings, steady)
        if len(log.segments) == before or log.doubted:
            self._moving |= {s.path for s in siblings if s.path not in self._claimed}
        return count

    def _rotate(self, log: _Log, base: Status | None, siblings: list[_Sibling], steady: set[Path]) -> int:
        """Go on with the next segment of a log whose file is another one now, or was truncated."""
        if any(s.path not in self._claimed and s.path not in steady and is_packed_file(s.path) for s in siblings):
            return 0  # a segment is being packed: which, its bytes will tell
        while log.segments and not log.segments[-1].mark.read:  # nothing was read of it: it tells nothing
            log.segments.pop()
            log.places.pop()
        old = log.segments[-1] if log.segments else None
        if old is not None and old.home in {None, log.path}:
            old.home = next((s.path for s in reversed(siblings) if s.path != log.path and old.is_in(s.path, s.status)), None)
        count = self._read(log, old) if old is not None and old.home is not None else 0
        if base is None or count:
            return count  # the writer may go on with the old file for a moment
        if old is not None and old.home is None and not log.doubted:
            log.doubted = True
            return 0
        log.doubted = False
        if old is not None and old.home is None:
            why = f"{old.name} is gone after {old.read} bytes: what was written behind them is not read"
            self._session.note(log.source, why, truncated=True)
        count = sum(self._append(log, segment) for segment in self._younger(log, old, siblings))
        self._claimed.add(log.path)
        return count + self._append(log, Segment(log.source, base.st_dev, base.st_ino, log.path))

    def _younger(self, log: _Log, old: Segment | None, siblings: list[_Sibling]) -> Iterator[Segment]:
        """Yield the files of several rotations since the last look, oldest first."""
        if log.path != log.family:
            return
        age = next((s.age for s in siblings if old is not None and s.path == old.home), None)
        for sibling in siblings:
            new = sibling.path != log.path and sibling.path not in self._claimed | self._settled
            if new and (age is None if old is None else age is not None and sibling.age > age):
                self._claimed.add(sibling.path)
                name = _renamed(log.source, sibling.path)
                yield Segment(name, sibling.status.st_dev, sibling.status.st_ino, sibling.path)

    def _resume(self, families: Families) -> int:
        """Read again what an earlier run read, as far as it is still there."""
        there = {source.name: source for source in self._there()}
        logs, self._resumed = self._resumed, {}
        for path, before in logs.items():
            log = _Log(before.source, path, _family(path))
            log.segments = [Segment(m.name, m.device, m.inode, None, m) for m in before.parts]
            log.places = [Part(m.name, 0, 0) for m in before.parts]
            self._logs.append(log)
        everything = {s.path for siblings in families.values() for s in siblings}
        self._identify(families, everything)
        self._logs = [log for log in self._logs if any(s.home for s in log.segments)]
        return sum(self._read_again(log, there.get(log.source)) for log in self._logs)

    def _read_again(self, log: _Log, source: Source | None) -> int:
        self._names |= {log.source, *(s.name for s in log.segments)}
        hints = source.hints if source is not None else hints_for(log.source)
        self._session.begin(log.source, hints, source.mtime_ns if source is not None else None)
        segments, log.segments, log.places = log.segments, [], []
        self._lost[log.source] = [i for i, segment in enumerate(segments) if segment.home is None and segment.mark.read]
        for i in self._lost[log.source]:
            text = f"{segments[i].name} is gone: what an earlier run sighted in it stays"
            self._session.note(log.source, text, truncated=True)
        return sum(self._append(log, segment) for segment in segments if segment.home is not None)

    # ---- bytes

    def _append(self, log: _Log, segment: Segment) -> int:
        log.segments.append(segment)
        self._checked = {key: found for key, found in self._checked.items() if found is not None}  # a file may be this one
        log.places.append(Part(segment.name, log.lines, log.bytes))
        self._place(log)
        return self._read(log, segment) if segment.home is not None else 0

    def _read(self, log: _Log, segment: Segment) -> int:
        """Read what is new of a segment."""
        count = 0
        try:
            for size, text in segment.more():
                count += size
                log.lines += text.count(b"\n")
                log.bytes += len(text)
                self._session.feed(log.source, text)
        except DAMAGE as error:
            why = f"{segment.name}: reading ended early: {str(error) or type(error).__name__}"
            self._session.note(log.source, why, truncated=True)
        return count

    def _place(self, log: _Log) -> None:
        """Tell the session in which files the lines of a log of several segments stand."""
        log.places = [evolve(place, name=segment.name) for place, segment in zip(log.places, log.segments, strict=True)]
        self._session.place(log.source, tuple(log.places) if len(log.places) > 1 else ())


# ------------------------------------------------------------------ files


def _statuses(paths: Iterable[Path]) -> Iterator[tuple[Path, Status]]:
    for path in paths:
        try:
            status = path.lstat()
        except OSError:
            continue  # it went while we looked
        if stat.S_ISREG(status.st_mode):
            yield path, status


def _around(path: Path) -> Iterator[Path]:
    """Yield the files beside a file that may be parts of it."""
    try:
        beside = list(path.parent.iterdir())
    except OSError:
        return
    yield from (other for other in beside if other.name.startswith((f"{path.name}.", f"{path.name}-")))


def _family(path: Path) -> Path:
    """Return the path of the log that a file is named after: its own, where it has no name of a rotated part."""
    part = rotation.rotated(str(path))
    return Path(part.log if part is not None else rotation.unpacked_name(str(path)))


def _families(listing: Listing) -> Families:
    """Return the files of each log by the log's own path, oldest first, the log itself last."""
    found: Families = {}
    for path, status in listing.items():
        part = rotation.rotated(str(path))
        found.setdefault(_family(path), []).append(_Sibling(part.age if part is not None else CURRENT, path, status))
    return {log: sorted(siblings, key=lambda s: (s.age, s.path == log)) for log, siblings in found.items()}


def _renamed(name: str, path: Path) -> str:
    """Return a source's name with the file's name of now."""
    folder, slash, _ = name.rpartition("/")
    return f"{folder}{slash}{path.name.encode('utf-8', 'surrogateescape').decode('utf-8', 'backslashreplace')}"


_GONE: Final = re.compile(r" \(gone(?: \d+)?\)$")


def _unlike(name: str, names: set[str]) -> str:
    """Return a name that is none of others."""
    numbered = (name if n == 1 else f"{name[:-1]} {n})" for n in count_from(1))
    return next(one for one in numbered if one not in names)


def _cut(scan: Scan, source: SourceCoverage, spans: tuple[range, ...], name: str) -> Scan:
    """Return what was sighted in these bytes of a source, under another name."""

    def inside(emitter: Emitter, start: int) -> bool:
        return emitter.source == source.source and any(start in span for span in spans)

    def emitter(old: Emitter) -> Emitter:
        return evolve(old, source=name)

    return Scan(
        tuple(evolve(s, emitter=emitter(s.emitter)) for s in scan.sightings if inside(s.emitter, s.start)),
        (evolve(source, source=name, activities=tuple(evolve(a, emitter=emitter(a.emitter)) for a in source.activities)),),
        tuple(evolve(e, emitter=emitter(e.emitter)) for e in scan.errors if inside(e.emitter, e.start)),
    )
