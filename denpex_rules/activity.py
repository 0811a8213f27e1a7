"""When emitters spoke: their timed lines as closed runs, coarser and coarser where there are many, never forgotten."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Final

from attrs import fields_dict

from denpex_rules.clock import MAX, MIN, SECOND, UNKNOWN, Instant
from denpex_rules.record import Line
from denpex_rules.rule import Kind
from denpex_rules.sighting import MAX_RUNS, NOBODY, Activity, Actor, Emitter

FRAMES: Final = 8  # clocks of one emitter that are told apart; lines of further ones count as untimed

_PARTS: Final = tuple(fields_dict(Actor))


class Runs:
    """Disjoint closed intervals in time order, further than `floor` ns apart; robust to stamps out of order."""

    def __init__(self) -> None:
        self.floor = SECOND
        self.lines = 0
        self.last = UNKNOWN
        self._los: list[int] = []
        self._his: list[int] = []

    def add(self, instant: Instant, limit: int) -> None:
        """Add the interval of one line; when there are more than `limit` runs, the floor doubles until they are fewer."""
        self.lines += 1
        self.last = instant
        lo, hi = instant.lo, instant.hi
        if self._los and self._los[-1] <= lo <= self._his[-1] + self.floor:
            self._his[-1] = max(self._his[-1], hi)
        else:
            self._insert(lo, hi)
            self.shrink(limit)

    def __len__(self) -> int:
        return len(self._los)

    def shrink(self, limit: int) -> None:
        """Double the floor until there are at most `limit` runs."""
        while len(self._los) > limit:
            self._coarsen()

    def intervals(self) -> tuple[tuple[int, int], ...]:
        """Return the runs in time order."""
        return tuple(zip(self._los, self._his, strict=True))

    def _insert(self, lo: int, hi: int) -> None:
        """Put an interval in its place and merge it with the runs that it comes close to."""
        at = bisect_left(self._los, lo)
        if at and self._his[at - 1] + self.floor >= lo:
            at -= 1
        end = at
        while end < len(self._los) and self._los[end] - self.floor <= hi:
            lo, hi = min(lo, self._los[end]), max(hi, self._his[end])
            end += 1
        self._los[at:end] = [lo]
        self._his[at:end] = [hi]

    def _coarsen(self) -> None:
        self.floor *= 2
        los, his = self._los, self._his
        self._los, self._his = [], []
        for lo, hi in zip(los, his, strict=True):
            if self._his and lo <= self._his[-1] + self.floor:
                self._his[-1] = max(self._his[-1], hi)
            else:
                self._los.append(lo)
                self._his.append(hi)


class Presence:
    """What one emitter's lines say about it as a whole: who it is, its kind of log, when it spoke."""

    def __init__(self) -> None:
        self._lines = 0
        self._kinds: Counter[Kind] = Counter()
        self._frames: dict[tuple[str, str, bool], Runs] = {}
        self._actor = NOBODY
        self._disputed: set[str] = set()
        self._seen = NOBODY
        self.runs = 0  # of all its clocks

    def add(self, line: Line, limit: int = MAX_RUNS) -> None:
        """Count one line; `limit` bounds the runs of each clock."""
        self._lines += 1
        if line.kind is not None:
            self._kinds[line.kind] += 1
        if line.actor is not self._seen and line.actor != self._seen:
            self._claim(line.actor)
        instant = line.instant
        if instant.lo <= MIN or instant.hi >= MAX:
            return
        runs = self._frames.get(instant.frame)
        if runs is None:
            if len(self._frames) == FRAMES:
                return
            runs = self._frames[instant.frame] = Runs()
        before = len(runs)
        runs.add(instant, limit)
        self.runs += len(runs) - before

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
                runs.last,
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
