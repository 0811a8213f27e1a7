"""How the logs of a job end: with its work done, in the open, or with ranks that stopped in the middle of their work.

End of file is no silence. Ranks count as stopped only where others are proven to have gone on: they printed the same kind of
progress line for longer than a minute, and for longer than three times the usual spacing of the rank that stopped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal

from attrs import evolve, frozen

from denpex_rules.blame import Lack
from denpex_rules.clock import MINUTE, SECOND, UNKNOWN, Instant, Order, format_about, format_duration
from denpex_rules.resolution import COLLECTED
from denpex_rules.rule import ENDING, PROGRESS, Kind
from denpex_rules.sighting import Actor, Emitter, Sighting
from denpex_rules.timeline import Need, Presence, Timeline, point_of
from denpex_rules.topology import space_of

FEWEST: Final = 5  # progress lines of a rank that tell its usual spacing
LATER: Final = 2  # progress lines of another rank that show that the work went on


@frozen
class Ending:
    """How the logs end, the last instant in them, and which ranks stopped before."""

    state: Literal["ended", "open", "cut_off"]
    last: Instant
    stopped: tuple[Actor, ...] = ()
    reasons: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()


def ending(timeline: Timeline, events: Iterable[str]) -> Ending | None:
    """Return how the logs of the ranks and their launcher end, None where there is none; without times, the last one is unknown.

    Args:
        timeline: what was read.
        events: the ids of the program's events.
    """
    logs = [p for p in timeline.presences if (p.activity.kind or "rank") in COLLECTED and p.activity.lines]
    if not logs:
        return None
    timed = [p for p in logs if p.last is not None]
    last = _last(max(timed, key=lambda p: p.last or 0)) if timed else UNKNOWN
    events = tuple(events)
    if any(timeline.of(event) for event in events if event.endswith(ENDING)):
        return Ending("ended", last)
    progress = [s for event in events if PROGRESS in event for s in timeline.of(event)]
    stopped = _stopped(timeline, progress)
    if not stopped:
        return Ending("open", last, lacks=_unseen(timeline))
    ordered = [found for _, found in sorted(stopped.items())]
    reasons = tuple(
        f"{_named(seen.actor)} made its last progress at {format_about(seen.instant.lo)} and said no more; "
        f"others went on for more than {format_duration(more - more % SECOND)}"
        for seen, more in ordered
    )
    actors = tuple(seen.actor for seen, _ in ordered)
    return Ending("cut_off", last, actors, reasons[:_LISTED], _lacks(timeline, [seen for seen, _ in ordered]))


def _last(presence: Presence) -> Instant:
    last = presence.last or 0
    return evolve(presence.activity.frame, lo=last, hi=last)


_Process = tuple[int, str]  # a rank with "", or a local rank with its agent's space


def _process(actor: Actor, emitter: Emitter) -> _Process | None:
    """Return which process of the job an actor is, None where nothing tells."""
    if actor.rank is not None:
        return actor.rank, ""
    return (actor.local_rank, space_of(emitter)) if actor.local_rank is not None else None


def _named(actor: Actor) -> str:
    return f"rank {actor.rank}" if actor.rank is not None else f"local rank {actor.local_rank}"


def _stopped(timeline: Timeline, progress: Sequence[Sighting]) -> Mapping[_Process, tuple[Sighting, int]]:
    """Return the ranks that stopped while others went on: the last line of each, and for how long the others did."""
    shapes: dict[str, dict[_Process, list[Sighting]]] = defaultdict(lambda: defaultdict(list))
    for sighting in progress:
        process = _process(sighting.actor, sighting.emitter)
        if process is not None and sighting.instant.known:
            shapes[_VARIABLE.sub("#", sighting.text)][process].append(sighting)
    logs = _Logs(timeline)
    found: dict[_Process, tuple[Sighting, int]] = {}
    for alike in shapes.values():
        ahead = _furthest(alike.values())
        for process, own in alike.items():
            seen = max(own, key=lambda s: s.instant.hi)
            furthest = ahead.get(seen.instant.frame)
            if len(own) < FEWEST or furthest is None or logs.spoke_after(process, seen):
                continue
            times = sorted(s.instant.lo for s in own)
            margin = max(MINUTE, 3 * max(b - a for a, b in pairwise(times)))
            if timeline.order(point_of(seen).shift(margin), point_of(furthest)) is Order.BEFORE:
                more = max(furthest.instant.lo - seen.instant.lo, found.get(process, (seen, 0))[1])
                found[process] = (seen, more)
    return found


def _furthest(processes: Iterable[Sequence[Sighting]]) -> dict[object, Sighting]:
    """Return for each clock the latest line behind which its process printed one more of the kind: up to there the work went on."""
    found: dict[object, Sighting] = {}
    for lines in processes:
        last = sorted(lines, key=lambda s: s.instant.lo)[-LATER:]
        if len(last) == LATER:
            frame = last[0].instant.frame
            found[frame] = max(found.get(frame, last[0]), last[0], key=lambda s: s.instant.lo)
    return found


class _Logs:
    """The logs of each process, and which files hold one emitter only."""

    def __init__(self, timeline: Timeline) -> None:
        self._sources = timeline.sources
        self._ends: dict[_Process, int] = {}
        self._emitters: dict[str, set[Emitter]] = defaultdict(set)
        for presence in timeline.presences:
            emitter = presence.activity.emitter
            self._emitters[emitter.source].add(emitter)
            process = _process(presence.activity.actor, emitter)
            if process is not None and presence.last is not None:
                self._ends[process] = max(presence.last, self._ends.get(process, presence.last))

    def spoke_after(self, process: _Process, seen: Sighting) -> bool:
        """Whether a process said anything after a line: then it did not stop in the middle of its work.

        Times of all lines are known to the second. A file of one emitter tells more: its last line is known.
        """
        if self._ends.get(process, seen.instant.hi) > seen.instant.hi + SECOND:
            return True
        return len(self._emitters[seen.source]) == 1 and seen.line < self._sources[seen.source].lines


def _lacks(timeline: Timeline, seen: Sequence[Sighting]) -> tuple[Lack, ...]:
    """Return the logs that would tell how the processes of the last lines ended."""
    lo, hi = min(s.instant.lo for s in seen) - MINUTE, max(s.instant.hi for s in seen) + MINUTE
    hosts: list[str | None] = [*sorted({s.actor.host for s in seen if s.actor.host is not None})] or [None]
    kinds: tuple[Kind, ...] = ("agent", "scheduler")
    needs = [Need(kind, lo=lo, hi=hi) for kind in kinds if not timeline.present(kind)]
    needs += [Need("kernel", host=h, lo=lo, hi=hi) for h in hosts if not timeline.present("kernel", host=h)]
    return tuple(Lack(need, "it would tell how their processes ended") for need in needs)


def _unseen(timeline: Timeline) -> tuple[Lack, ...]:
    """Return the log that would tell how a job ended whose own logs don't: its launcher saw every worker end."""
    return () if timeline.present("agent") else (Lack(Need("agent"), "it would tell how the job's processes ended"),)


_VARIABLE: Final = re.compile(r"[\d#█▉▊▋▌▍▎▏.:,+-]+")
_LISTED: Final = 16
