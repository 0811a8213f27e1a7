"""Which format stands at a place of a line: candidates by the bytes there, the first that fits wins.

A stem that many formats begin with is matched once for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from attrs import frozen

from denpex_rules import stamps
from denpex_rules.hosts import HOSTS
from denpex_rules.leaves import LEAVES
from denpex_rules.lineformat import compiled
from denpex_rules.loggers import LOGGERS
from denpex_rules.prefix import ISO, ZONE, ZONED, Format, Match, Prefixes
from denpex_rules.record import LineFormat
from denpex_rules.wrappers import NANOS, WRAPPERS

FORMATS: Final[tuple[Format, ...]] = HOSTS + WRAPPERS + LEAVES + LOGGERS
BARE: Final = frozenset({"iso", "iso_bracket", "syslog_stamp"})  # a stamp alone: what it stands in front of may say more
STAMP: Final = re.compile(ISO + rb"(?:" + ZONE + rb")?")

_BEHIND_ZONE: Final = (ZONED, NANOS, b"(?<=,")  # how patterns begin that ask for a zone in the stamp before them
_BRACKET: Final = ord("[")
_ANY: Final = -1  # in place of a byte that a pattern needs: it needs none for certain
_END: Final = 256  # what "the next byte" is at the end of a line
_OPEN: Final = BARE | {"json"}  # leaves that another prefix can stand behind or inside of

# What is tried at one place, in this order: a byte that the line must have, the pattern, the format.
_Cell = tuple[tuple[int, Callable[[bytes, int], Match | None], Format], ...]


class _Cells(dict[int, _Cell]):
    """What to try at a place, by the byte that stands there; a pattern is compiled when such a byte is first met."""

    def __init__(self, live: list[Format], *, short: bool) -> None:
        super().__init__()
        self._live = live
        self._short = short

    def __missing__(self, byte: int) -> _Cell:
        found = (f for f in self._live if (byte in f.starts if byte != _END else f.name == "iso"))
        self[byte] = tuple((f.needs if self._short and f.needs is not None else _ANY, f.pattern.match, f) for f in found)
        return self[byte]


@frozen
class Tables:
    """What to try, by stem and by the byte that follows the stem."""

    plain: _Cells
    bracket: _Cells
    iso: _Cells
    iso_local: _Cells  # behind a stamp without a zone
    iso_bracket: _Cells
    own: tuple[Format, ...]  # that users and plug-ins describe: tried first


@lru_cache(maxsize=64)
def tables_for(weak: frozenset[str], own: tuple[LineFormat, ...] = (), *, short: bool = True) -> Tables:
    """Return what to try on a line.

    Args:
        weak: the weak wrappers that its source uses.
        own: the formats of users and plug-ins.
        short: whether the line is short. In a long one of many records it is not worth looking for a byte each time.
    """

    def table(stem: str, unless: tuple[bytes, ...] = ()) -> _Cells:
        live = [f for f in FORMATS if f.stem == stem and (f.role != "weak" or f.name in weak)]
        # With a weak wrapper enabled by evidence from the whole file it goes first: `[3] ` is then the launcher's.
        live.sort(key=lambda f: f.role != "weak")
        return _Cells([f for f in live if not (unless and f.text.startswith(unless))], short=short)

    own_first = tuple(f for form in own for f in compiled(form))
    return Tables(table(""), table("["), table("iso"), table("iso", _BEHIND_ZONE), table("[iso"), own_first)


def read_next(line: bytes, position: int, into: Prefixes, tables: Tables) -> tuple[Format, int] | None:
    """Read the format that stands at `position` and return it and where it ends, None where none does."""
    if position >= len(line):
        return None
    first = line[position]
    if first == _BRACKET:
        inside = position + 1
        second = line[inside] if inside < len(line) else _END
        if 48 <= second <= 57:
            found = _stamped(line, inside, into, tables.iso_bracket, tables.iso_bracket)
            if found:
                return found
        candidates = tables.bracket[second]
    else:
        if 48 <= first <= 57 and line[position + 4 : position + 5] == b"-":
            found = _stamped(line, position, into, tables.iso, tables.iso_local)
            if found:
                return found
        candidates = tables.plain[first]
    for needs, matches, form in candidates:
        if needs >= 0 and needs not in line:
            continue
        match = matches(line, position)
        if match is not None and (form.role != "leaf" or into.kind != "kernel"):
            form.read(match, into)
            return form, match.end()
    return None


def read_own(line: bytes, position: int, into: Prefixes, tables: Tables) -> tuple[Format, int] | None:
    """Read the format of a user's or a plug-in's own that stands at `position`; see `read_next`."""
    for form in tables.own:
        match = form.pattern.match(line, position)
        if match is not None:
            form.read(match, into)
            return form, match.end()
    return None


def leads(line: bytes, tables: Tables) -> bool:
    """Whether a line begins with a leaf that only a message stands behind: far faster than to read it.

    False also where it takes reading to tell.
    """
    if tables.own or not line:
        return False
    inside = int(line[0] == _BRACKET)
    stamp = STAMP.match(line, inside)
    if stamp is not None:
        start = end = stamp.end()
        cells = tables.iso_bracket if inside else tables.iso if stamp[3] else tables.iso_local
    else:
        start, end = 0, inside
        cells = tables.bracket if inside else tables.plain
    for needs, matches, form in cells[line[end] if end < len(line) else _END]:
        if (needs < 0 or needs in line) and matches(line, start) is not None:
            return form.role == "leaf" and form.name not in _OPEN
    return False


def _stamped(line: bytes, position: int, into: Prefixes, zoned: _Cells, local: _Cells) -> tuple[Format, int] | None:
    """Read the format whose stem is the ISO stamp at `position`; its stamp is taken, or arrival where the wrapper says so."""
    stamp = STAMP.match(line, position)
    if stamp is None:
        return None
    end = stamp.end()
    table = zoned if stamp[3] else local
    for needs, matches, form in table[line[end] if end < len(line) else _END]:
        if (needs < 0 or needs in line) and (match := matches(line, end)) is not None:
            instant = stamps.iso(stamp[1], stamp[2], stamp[3])
            into.time(stamps.arrival(instant) if into.arrives else instant)
            form.read(match, into)
            return form, match.end()
    return None
