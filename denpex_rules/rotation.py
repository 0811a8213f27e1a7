"""Rotated logs: which files are parts of one log, and in which order they were written.

A name alone proves nothing: `out`, `out.1` and `out.2` may be three ranks. Files are parts of one log only where each part's
last stamp is not after the next part's first one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from attrs import field, frozen

from denpex_rules import formats
from denpex_rules.clock import DAY, MAX, MIN, UNKNOWN, Instant
from denpex_rules.record import Hints
from denpex_rules.stamps import with_year

ENDS: Final = 1 << 16  # bytes at either end of a part that are searched for a stamp

_PACKED: Final = re.compile(r"\.(?:gz|xz|bz2|zst)$", re.IGNORECASE)
_COUNTED: Final = re.compile(r"(.+)\.(\d{1,3}|old)", re.IGNORECASE)
_DATED: Final = re.compile(r"(.+)[.-](\d{8}(?:-?\d{2,10})?|\d{4}-\d\d-\d\d(?:[_T-]\d\d(?:[-:_]?\d\d){0,2})?)")


@frozen(order=True)
class Age:
    """A place in a rotated set, the oldest first: by date, then by number, the log that is still written last."""

    counted: bool
    date: str
    number: int


@frozen
class Rotated:
    """A rotated file's name: of which log it is a part, and which."""

    log: str
    age: Age = field(eq=False)


CURRENT: Final = Age(True, "", 0)
Ends = tuple[Instant, Instant]
EMPTY: Final[Ends] = (UNKNOWN, UNKNOWN)


def rotated(name: str) -> Rotated | None:
    """Return what a file's name says, a path or not, None where it is not the name of a rotated part."""
    plain = unpacked_name(name)
    if found := _COUNTED.fullmatch(plain):
        return Rotated(found[1], Age(True, "", -(1 if found[2].lower() == "old" else int(found[2])) - 1))
    if found := _DATED.fullmatch(plain):
        return Rotated(found[1], Age(False, re.sub(r"\D", "", found[2]), 0))
    return None


def unpacked_name(name: str) -> str:
    """Return a name without what says that it is compressed."""
    return _PACKED.sub("", name)


def groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the sets that names may stand for: by the log that is still written, its parts, oldest first, itself last."""
    known = set(names)
    found: dict[str, list[tuple[Age, str]]] = {}
    for name in sorted(known):
        part = rotated(name)
        if part is not None and part.log in known and PurePosixPath(part.log).name:
            found.setdefault(part.log, [(CURRENT, part.log)]).append((part.age, name))
    return {log: [name for _, name in sorted(parts)] for log, parts in found.items() if log not in _inner(found)}


def _inner(found: dict[str, list[tuple[Age, str]]]) -> set[str]:
    """Return logs that are parts of another one themselves: `a.log.1` where `a.log.1.1` is there too."""
    return {name for log, parts in found.items() for _, name in parts if name != log}


def follows(ends: Iterable[Ends | None]) -> bool:
    """Whether parts were written one after the other: by the first and last stamp of each."""
    known = [end for end in ends if end != EMPTY]
    pairs = list(pairwise(known))
    return bool(pairs) and all(a is not None and b is not None and _before(a[1], b[0]) for a, b in pairs)


def _before(last: Instant, first: Instant) -> bool:
    if last.year != first.year:  # glog's stamps have none
        last, first = (last, with_year(first, last)) if last.year else (with_year(last, first), first)
    elif not last.year and last.lo - first.lo > 183 * DAY:
        first = first.shift(366 * DAY)  # from December to January
    return last.clock in {"wall", "local", "arrival"} and last.comparable(first) and last.lo <= first.hi


def ends_of(chunks: Iterator[bytes], hints: Hints) -> Ends | None:
    """Return the first and last stamp of a part, EMPTY where it is empty, None where no stamp is found near both its ends."""
    head, tail = b"", b""
    for chunk in chunks:
        if len(head) < ENDS:
            head += chunk[: ENDS - len(head)]
        tail = (tail + chunk)[-ENDS:]
    if not head.strip():
        return EMPTY
    first = _stamp(head.splitlines(), hints)
    last = _stamp(reversed(tail.splitlines()), hints)
    return (first, last) if first is not None and last is not None else None


def _stamp(lines: Iterable[bytes], hints: Hints) -> Instant | None:
    instants = (formats.peel(line, hints).instant for line in lines)
    return next((i for i in instants if i.lo > MIN and i.hi < MAX), None)
