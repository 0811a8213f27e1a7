"""Read one line with one format of a table, the way `peel` does, and show what the format took from it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from denpex_rules import stamps
from denpex_rules.clock import SECOND, Instant, format_time
from denpex_rules.prefix import ISO, ZONE, Format, Prefixes
from denpex_rules.record import NO_HINTS, Hints

_STAMP = re.compile(ISO + rb"(?:" + ZONE + rb")?")
_TAKEN = (
    *("rank", "local_rank", "task", "host", "pid", "severity", "kind", "tee", "tag", "process", "ident", "stream"),
    *("program", "arrives"),
)


def one(table: Iterable[Format], name: str) -> Format:
    """Return the format of that name."""
    (found,) = (form for form in table if form.name == name)
    return found


def read(form: Format, line: str, hints: Hints = NO_HINTS) -> tuple[Prefixes, str] | None:
    """Return what a format takes from the start of a line, and the text behind it; None where the line is not of the format."""
    raw, into, start = line.encode(), Prefixes(hints), 0
    if form.stem in {"iso", "[iso"}:
        stamp = _STAMP.match(raw, len(form.stem) - 3)
        if stamp is None:
            return None
        into.time(stamps.iso(stamp[1], stamp[2], stamp[3]))
        start = stamp.end()
    follows = start + (form.stem == "[")
    match = form.pattern.match(raw, start)
    if match is None or (follows < len(raw) and raw[follows] not in form.starts):
        return None
    form.read(match, into)
    return into, raw[match.end() :].decode()


def shown(instant: Instant | None) -> str:
    """Return an instant as its clock, where it starts, and how long it is where that is not a second."""
    if instant is None:
        return "-"
    start = f"{instant.lo / SECOND:.6f}" if instant.clock == "monotonic" else format_time(instant.lo)
    length = instant.hi - instant.lo + 1
    return f"{instant.clock} {start}{'' if instant.year else ' no year'}{'' if length == SECOND else f' for {length}'}"


def taken(form: Format, line: str, hints: Hints = NO_HINTS) -> dict[str, object]:
    """Return what a format takes from a line by name: only what differs from nothing at all, and the text behind."""
    found = read(form, line, hints)
    assert found is not None, f"{line!r} is not of the format {form.name}"
    into, rest = found
    fields = {name: value for name in _TAKEN if (value := getattr(into, name)) not in {None, "", False}}
    return {**fields, **({"time": shown(into.stamp)} if into.stamp else {}), **({"text": rest} if rest else {})}
