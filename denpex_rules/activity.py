"""When emitters spoke: their timed lines as closed runs, coarser and coarser where there are many, never forgotten."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import Final

from attrs import fields_dict

from denpex_rules.clock import MAX, MIN, SECOND, Instant, first_second, whole_seconds
from denpex_rules.record import Line
from denpex_rules.rule import Kind
from denpex_rules.sighting import MAX_RUNS, NOBODY, Activity, Actor, Emitter

FRAMES: Final = 8  # clocks of one emitter that are told apart; lines of further ones count as untimed

Frame = tuple[str, str, bool]  # as Instant.frame

_PARTS: Final = tuple(fields_dict(Actor))


class Runs:
    """Disjoint closed intervals in time order, further than `floor` ns apart; robust to stamps out of order."""

    def __init__(self, frame: Instant) -> None:
        """Begin without any; `frame` is an instant of their clock."""
        self.floor = SECOND
        self.lines = 0
        self.frame = frame
        self.los: list[int] = []
        self.his: list[int] = []

    def add(self, lo: int, hi: int, limit: int) -> None:
        """Add an interval; when there are more than `limit` runs, the floor doubles until they are fewer."""
        los, his = self.los, self.his
        if los and los[-1] <= lo <= his[-1] + self.floor:
            his[-1] = max(his[-1], hi)
        else:
            self._insert(lo, hi)
            self.shrink(limit)

    def around(self, lo: int) -> int:
        """Return the place of the run that an interval which begins at `lo` was added to; -1 where there is no run."""
        return bisect_right(self.los, lo) - 1

    def extend(self, at: int, hi: int, fresh: Iterable[tuple[int, int]], limit: int) -> None:
        """Add intervals that were joined elsewhere: as `add` of each would.

        Args:
            at: the place of a run; -1: there was none.
            hi: what its end has become, nearer to the next run's than `floor` nowhere.
            fresh: further runs behind all others, in time order and further than `floor` apart.
            limit: as for `add`; it makes no difference whether it is reached now or on the way.
        """
        if at >= 0:
            self.his[at] = hi
        for begin, end in fresh:
            self.los.append(begin)
            self.his.append(end)
        self.shrink(limit)

    def __len__(self) -> int:
        return len(self.los)

    def shrink(self, limit: int) -> None:
        """Double the floor until there are at most `limit` runs."""
        while len(self.los) > limit:
            self._coarsen()

    def intervals(self) -> tuple[tuple[int, int], ...]:
        """Return the runs in time order."""
        return tuple(zip(self.los, self.his, strict=True))

    def _insert(self, lo: int, hi: int) -> None:
        """Put an interval in its place and merge it with the runs that it comes close to."""
        at = bisect_left(self.los, lo)
        if at and self.his[at - 1] + self.floor >= lo:
            at -= 1
        end = at
        while end < len(self.los) and self.los[end] - self.floor <= hi:
            lo, hi = min(lo, self.los[end]), max(hi, self.his[end])
            end += 1
        self.los[at:end] = [lo]
        self.his[at:end] = [hi]

    def _coarsen(self) -> None:
        self.floor *= 2
        los, his = self.los, self.his
        self.los, self.his = [], []
        for lo, hi in zip(los, his, strict=True):
            if self.his and lo <= self.his[-1] + self.floor:
                self.his[-1] = max(self.his[-1], hi)
            else:
                self.los.append(lo)
                self.his.append(hi)


class Presence:
    """What one emitter's lines say about it as a whole: who it is, its kind of log, when it spoke."""

    def __init__(self) -> None:
        self._lines = 0
        self._kinds: Counter[Kind] = Counter()
        self._frames: dict[Frame, Runs] = {}
        self._actor = NOBODY
        self._disputed: set[str] = set()
        self._seen = NOBODY
        self.runs = 0  # of all its clocks

    def add(self, line: Line, limit: int = MAX_RUNS) -> None:
        """Count one line; `limit` bounds the runs of each clock."""
        self.count(line, 1)
        instant = line.instant
        if instant.lo > MIN and instant.hi < MAX:
            self.spoke(whole_seconds(instant), limit)

    def count(self, line: Line, lines: int) -> None:
        """Count lines of one kind and actor."""
        self._lines += lines
        if line.kind is not None:
            self._kinds[line.kind] += lines
        if line.actor is not self._seen and line.actor != self._seen:
            self._claim(line.actor)

    def spoke(self, seconds: Instant, limit: int) -> None:
        """Take the time of a line that was counted, in whole seconds."""
        runs = self.clock(seconds)
        if runs is not None:
            before = len(runs)
            runs.add(seconds.lo, seconds.hi, limit)
            runs.lines += 1
            self.runs += len(runs) - before

    def clock(self, instant: Instant) -> Runs | None:
        """Return the runs of the clock that an instant is of; None where there are too many clocks."""
        runs = self._frames.get(instant.frame)
        if runs is None and len(self._frames) < FRAMES:
            runs = self._frames[instant.frame] = Runs(first_second(instant))
        return runs

    def recount(self) -> int:
        """Count the runs anew after some were added elsewhere, and return by how many they grew."""
        before = self.runs
        self.runs = sum(map(len, self._frames.values()))
        return self.runs - before

    def shrink(self, limit: int) -> None:
        """Keep at most `limit` runs of each clock."""
        for runs in self._frames.values():
            runs.shrink(limit)
        self.runs = sum(map(len, self._frames.values()))

    def activities(self, emitter: Emitter) -> tuple[Activity, ...]:
        """Return the emitter's activity, one a clock; lines without a time are counted with the clock of most lines."""
        kind = max(self._kinds, key=self._kinds.__getitem__, default=None)
        frames = sorted(self._frames.values(), key=lambda runs: -runs.lines)
        untimed = self._lines - sum(runs.lines for runs in frames)
        if not frames:
            return (Activity(emitter, self._actor, kind, self._lines, untimed, SECOND),)
        return tuple(
            Activity(
                emitter,
                self._actor,
                kind,
                runs.lines + rest,
                rest,
                runs.floor,
                runs.intervals(),
                runs.frame,
            )
            for runs, rest in zip(frames, (untimed, *(0 for _ in frames[1:])), strict=True)
        )

    def _claim(self, actor: Actor) -> None:
        """Take what a line says about the actor; what lines disagree about is unknown for the emitter."""
        self._seen = actor
        known = {}
        for part in _PARTS:
            mine, theirs = getattr(self._actor, part), getattr(actor, part)
            if mine is not None and theirs is not None and mine != theirs:
                self._disputed.add(part)
            known[part] = None if part in self._disputed else mine if mine is not None else theirs
        self._actor = Actor(**known)
