"""Actors, instants, intervals and counts of a report in plain words."""

from __future__ import annotations

from typing import Final

from denpex_rules.clock import SECOND, parse_time
from denpex_rules.finding import ClauseResult, Group, Interval, Moment, Suspect, Who

NAMED: Final = 6  # actors of one role that the text names


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
    lo, hi = _clock_text(interval.lo), _clock_text(interval.hi)
    if lo == hi:
        return f"{lo} {zone}"
    day, _, time = hi.partition(" ")
    return f"{lo} .. {time if lo.startswith(day) else hi} {zone}"


def format_moment(moment: Moment) -> str:
    """Return an instant for one evidence line: its start, its width where it is no point, its clock where it is not wall.

    A stamp that was cut to its last digit (`10:04:12` for anything within that second) shows no width: it is shown as it was read.
    """
    zone = "" if moment.clock == "local" else "Z"
    clock = "" if moment.clock in {"wall", "none"} else f" ({_CLOCKS.get(moment.clock, moment.clock)})"
    lo = f"{_clock_text(moment.lo)}{zone}" if moment.lo is not None else ""
    hi = f"{_clock_text(moment.hi)}{zone}" if moment.hi is not None else ""
    if moment.lo is None or moment.hi is None:
        return (f"after {lo}" if lo else f"before {hi}" if hi else "no time") + clock
    width = parse_time(moment.hi) - parse_time(moment.lo)
    return lo + (f" +{round(width / SECOND, 3):g} s" if lo != hi else "") + clock


_CLOCKS: Final = {"local": "zone unknown", "monotonic": "uptime", "arrival": "arrival"}


def _clock_text(iso: str) -> str:
    """Return an instant for the eye; the nines that close an interval just below its next digit are cut."""
    text = iso.removesuffix("Z").replace("T", " ")
    return text.rstrip("9").removesuffix(".") if text.endswith("999999") else text


def plural(count: int, noun: str) -> str:
    """Return a count with its noun (`1 line`, `1,200 lines`)."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def name_group(group: Group) -> str:
    """Return how many actors have a role, and the first few by name."""
    named = "; ".join(name_actor(who) for who in group.actors[:NAMED])
    rest = group.count - min(len(group.actors), NAMED)
    more = f"; and {rest:,} more (--format json names up to 32)" if rest > 0 else ""
    return f"{group.count:,}: {named}{more}" if named else f"{group.count:,}"


def nearest_miss(clause: ClauseResult) -> str:
    """Return by how many seconds a clause missed, "" where that is not known."""
    return "" if clause.miss_s is None else f"nearest miss {abs(clause.miss_s):g} s"
