"""Actors, instants, intervals and counts of a report in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from denpex_rules.clock import SECOND, UNITS, format_time, parse_time
from denpex_rules.finding import ClauseResult, Group, Interval, Moment, Suspect, Who

NAMED: Final = 6  # actors of one role that the text names one by one


def name_actor(who: Who | Suspect) -> str:
    """Return an actor in words, in the order rank, host, device ("unknown" where no part is known)."""
    parts = []
    local = who.local_rank if isinstance(who, Who) else None
    pid = who.pid if isinstance(who, Who) else None
    if who.rank is not None:
        parts.append(f"rank {who.rank}")
    elif local is not None:
        parts.append(f"local rank {local}")
    if who.host is not None:
        parts.append(f"host {who.host}")
    if who.device is not None:
        parts.append(f"device {who.device}")
    if pid is not None and not parts:
        parts.append(f"pid {pid}")
    return ", ".join(parts) or "unknown"


def format_interval(interval: Interval, zone: str = "UTC") -> str:
    """Return a closed interval with as little repetition as its ends allow, and the zone that its times are of."""
    start, end = _ends(interval.lo, interval.hi)
    if start == end:
        return f"{start} {zone}"
    day, _, time = end.partition(" ")
    return f"{start} .. {time if start.startswith(day) else end} {zone}"


def format_moment(moment: Moment) -> str:
    """Return an instant for one evidence line: its start, its width where it is no point, its clock where it is not wall.

    A stamp that was cut to its last digit (`10:04:12` for anything within that second) shows no width: it is shown as it was read.
    """
    zone = "" if moment.clock == "local" else "Z"
    clock = "" if moment.clock in {"wall", "none"} else f" ({_CLOCKS.get(moment.clock, moment.clock)})"
    if moment.lo is None or moment.hi is None:
        bound = moment.lo or moment.hi
        side = "after" if moment.lo else "before"
        return (f"{side} {_shown(parse_time(bound))}{zone}" if bound else "no time") + clock
    start, end = _ends(moment.lo, moment.hi)
    width = (parse_time(moment.hi) - parse_time(moment.lo)) / SECOND
    return f"{start}{zone}" + (f" +{round(width, 3):g} s" if start != end else "") + clock


_CLOCKS: Final = {"local": "zone unknown", "monotonic": "uptime", "arrival": "arrival"}


def _ends(lo: str, hi: str) -> tuple[str, str]:
    """Return both ends for the eye: one that lies just below the next second, ms or us is shown as the one that it closes."""
    ends = parse_time(lo), parse_time(hi)
    for unit in (SECOND, UNITS["ms"], UNITS["us"]):
        if all(end % unit in {0, unit - 1} for end in ends):
            start, stop = (end - end % unit for end in ends)
            return _shown(start), _shown(stop)
    return _shown(ends[0]), _shown(ends[1])


def _shown(ns: int) -> str:
    return format_time(ns).removesuffix("Z").replace("T", " ")


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun (`1 line`, `1,200 lines`); `many` where the plural takes more than an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {many or noun + 's'}"


def name_group(group: Group) -> str:
    """Return how many actors have a role, and who they are: ranks by host, else the first few by name."""
    named = list(group.actors)
    if all(who.rank is not None for who in named):
        hosts: dict[str | None, list[int]] = {}
        for who in named:
            hosts.setdefault(who.host, []).append(who.rank or 0)
        text = "; ".join(name_ranks(ranks) + (f" on host {host}" if host else "") for host, ranks in hosts.items())
    else:
        named = named[:NAMED]
        text = "; ".join(map(name_actor, named))
    rest = group.count - len(named)
    more = f"; and {rest:,} more" if named and rest else ""
    return f"{group.count:,}: {text}{more}" if named else f"{group.count:,}"


def name_ranks(ranks: Sequence[int]) -> str:
    """Return ranks as "rank 3" or "ranks 0-3, 7"."""
    runs: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    parts = [str(lo) if lo == hi else f"{lo}-{hi}" if hi > lo + 1 else f"{lo}, {hi}" for lo, hi in runs]
    return f"rank{'s' if len(set(ranks)) > 1 else ''} {', '.join(parts)}"


def nearest_miss(clause: ClauseResult) -> str:
    """Return by how many seconds a clause missed, and on which line; "" where neither is known."""
    if clause.miss_s is None:
        return f"see {clause.nearest}" if clause.nearest else ""
    return f"nearest miss {abs(clause.miss_s):g} s" + (f" at {clause.nearest}" if clause.nearest else "")
