"""Parts of logs: the lines that a person points at, peeled, with the lines around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import evolve, field, frozen

from denpex_rules import formats
from denpex_rules.errors import UsageError
from denpex_rules.lines import LineSplitter, PhysicalLine
from denpex_rules.places import hints_for
from denpex_rules.record import Hints, Line
from denpex_rules.rule import SEVERITIES
from denpex_rules.sources import STDIN, Source, expand

AROUND: Final = 20  # lines kept on each side of a chosen one
WHOLE: Final = 200  # lines; a log of at most so many is kept whole
MOST: Final = 200  # lines that can be chosen in one log: a draft is made from a few
PASTED: Final = "pasted.log"  # what standard input is called beside a case

_SAMPLE: Final = 200  # lines that tell the wrappers of a log
_PLACE: Final = re.compile(r"(.+?):(\d+)(?:-(\d+))?", re.DOTALL)
_PACKED: Final = re.compile(r"\.(?:gz|xz|bz2|zst)$", re.IGNORECASE)
# What loggers put between their stamp and the message: a place in the source, a rank, the kernel's uptime.
_WHERE: Final = re.compile(
    r"(?:\[ *\d+\.\d{3,9}\] ?|\[?[\w./<>-]{1,80}\.(?:py|cc|cpp|cu|cuh|c|h|hpp|go|rs):\d{1,7}[\])]?(?=[\s:-])|"
    r"[A-Za-z_][\w.]{0,80}:\w{1,80}:\d{1,7} - |\[[Rr]ank ?\d{1,7}\](?=[:\s])|[\s:-]){0,9}"
)
_TRACE: Final = b"Traceback (most recent call last)"


@frozen
class Place:
    """Where a person points: a log, and in it the lines `first` to `last`, counted from 1; both 0 for the whole log."""

    log: str
    first: int = 0
    last: int = 0


@frozen
class Chosen:
    """One record that was pointed at.

    Args:
        number: the line of the excerpt that tells what the record is about, from 1.
        message: that line's own words: behind its wrappers, stamps and level.
        text: the line behind its wrappers, as patterns see it.
        line: the line as its prefixes describe it, with the actor that its place claims.
        alone: whether the line was named by itself, not as a part of a range.
    """

    number: int
    message: str
    text: str
    line: Line
    alone: bool


@frozen
class Excerpt:
    """A log, cut to the chosen lines and those around them.

    Args:
        log: how the person named it.
        name: what its copy is called: as much of its path as claims something about its lines.
        lines: the bytes of its lines, without newlines.
        chosen: the records that were pointed at, by line.
        whole: whether nothing was cut away.
    """

    log: str
    name: str
    lines: tuple[bytes, ...] = field(repr=False)
    chosen: tuple[Chosen, ...]
    whole: bool

    @property
    def data(self) -> bytes:
        """The excerpt as the bytes of a file."""
        return b"".join(line + b"\n" for line in self.lines)


# ------------------------------------------------------------------ reading


def parse_place(text: str) -> Place:
    """Return the place that `LOG`, `LOG:LINE` or `LOG:FIRST-LAST` names; an existing file of that whole name comes first.

    Raises:
        UsageError: the lines are none.
    """
    match = None if Path(text).exists() else _PLACE.fullmatch(text)
    if match is None:
        return Place(text)
    first, last = int(match[2]), int(match[3] or match[2])
    if not 1 <= first <= last:
        raise UsageError(f"{text}: lines count from 1, and a range goes upwards")
    if last - first >= MOST:
        raise UsageError(f"{text}: these are {last - first + 1:,} lines; choose the few that tell the failure, at most {MOST}")
    return Place(match[1], first, last)


def by_source(places: Iterable[Place]) -> list[tuple[Source, tuple[Place, ...]]]:
    """Return the sources of places, each with the places in it.

    Raises:
        UsageError: a log does not exist, or lines of a folder are named.
    """
    logs: dict[str, list[Place]] = {}
    for place in places:
        logs.setdefault(place.log, []).append(place)
    found = []
    for log, inside in logs.items():
        sources = expand([log])
        if len(sources) != 1 and any(place.first for place in inside):
            raise UsageError(f"{log} holds {len(sources)} logs: name one to choose lines of it")
        if Path(log).is_dir():  # inside another folder there may be logs of the same names
            sources = [evolve(source, name=f"{Path(log).as_posix()}/{source.name}") for source in sources]
        found += [(source, tuple(inside)) for source in sources]
    return found


def read(source: Source, places: Sequence[Place], *, around: int = AROUND) -> Excerpt:
    """Return the excerpt of a source around places that name lines.

    Args:
        source: the log.
        places: the lines to choose.
        around: lines to keep on each side of a chosen one.

    Raises:
        UsageError: the log has no such line, or the chosen lines hold no text.
    """
    wanted = {number: place.first == place.last for place in places for number in range(place.first, place.last + 1)}
    if len(wanted) > MOST:
        raise UsageError(f"{source.name}: {len(wanted):,} lines are chosen; choose at most {MOST}")
    kept, count = _kept(source, wanted, around)
    beyond = [number for number in sorted(wanted) if number > count]
    if beyond:
        notes = f" ({'; '.join(source.notes)})" if source.notes else ""
        raise UsageError(f"{source.name}: there is no line {beyond[0]}, the log has {count:,}{notes}")
    rows = {number: row for row, number in enumerate(kept, 1)}
    lines = tuple(kept.values())
    hints = formats.decide(lines[:_SAMPLE], hints_for(_inside(source.name)))
    chosen = tuple(_records(lines, {rows[number]: alone for number, alone in wanted.items()}, hints))
    if not chosen:
        raise UsageError(f"{source.name}: the chosen lines hold no text")
    return Excerpt(source.name, _name(source.name), lines, chosen, len(kept) == count)


def head(source: Source, count: int) -> bytes:
    """Return the first lines of a source as the bytes of a file."""
    splitter = LineSplitter()
    found = []
    for line in _lines(source, splitter):
        if line.number > count:
            break
        found.append(line.data + line.tail + b"\n")
    return b"".join(found)


def _kept(source: Source, wanted: Iterable[int], around: int) -> tuple[dict[int, bytes], int]:
    """Return the lines of a source that are worth keeping, by number, and how many lines it has."""
    near = {number + step for number in wanted for step in range(-around, around + 1)}
    found: dict[int, bytes] = {}
    splitter = LineSplitter()
    for line in _lines(source, splitter):
        if line.number in near or (around and line.number <= WHOLE):
            found[line.number] = line.data + line.tail
    count = splitter.lines
    numbers = range(1, count + 1) if around and count <= WHOLE else sorted(n for n in near if 1 <= n <= count)
    return {number: found.get(number, b"") for number in numbers}, count  # the splitter leaves out blank lines


def _lines(source: Source, splitter: LineSplitter) -> Iterator[PhysicalLine]:
    for chunk in source.open():
        yield from splitter.feed(chunk)
    yield from splitter.finish()


def _inside(name: str) -> str:
    """Return the path that claims something about a source: inside its archive, without compression."""
    return _PACKED.sub("", PASTED if name == STDIN else name.rpartition("!")[2] or name)


def _name(name: str) -> str:
    """Return as much of a source's path as claims all that the whole does."""
    parts = [part for part in Path(_inside(name)).parts if part not in {"/", "..", "."}]
    claims = _claims(hints_for("/".join(parts)))
    short = ("/".join(parts[-count:]) for count in range(1, len(parts)))
    return next((one for one in short if _claims(hints_for(one)) == claims), "/".join(parts))


def _claims(hints: Hints) -> tuple[object, ...]:
    return (hints.actor, hints.kind, hints.process)


# ------------------------------------------------------------------ records


def _records(lines: Sequence[bytes], rows: dict[int, bool], hints: Hints) -> Iterator[Chosen]:
    """Yield the records among the chosen rows, each by the line that tells most: of a traceback its last."""
    group: list[Chosen] = []
    for row in sorted(rows):
        one = _chosen(row, lines[row - 1], hints, alone=rows[row])
        if not one.text.strip():
            continue
        follows = group and group[-1].number == row - 1 and (not one.line.head or group[-1].text.encode().startswith(_TRACE))
        follows = follows and not (one.alone and group[-1].alone)  # lines that were named one by one
        if group and not follows:
            yield _telling(group)
            group = []
        group.append(one)
    if group:
        yield _telling(group)


def _chosen(row: int, data: bytes, hints: Hints, *, alone: bool) -> Chosen:
    line = formats.peel(data, hints)
    text = line.text.rpartition(b"\r")[2] if b"\r" in line.text else line.text
    words = text.decode("utf-8", "replace")
    message = formats.message(text).decode("utf-8", "replace")
    told = message[_WHERE.match(message).end() :]  # type: ignore[union-attr]  # it matches the empty text
    return Chosen(row, told.rstrip() or words.strip(), words, line, alone)


def _telling(group: Sequence[Chosen]) -> Chosen:
    """Return the line of a record that tells what it is about: the last of those that are worst."""
    worst = max((SEVERITIES.index(one.line.severity) for one in group if one.line.severity), default=None)
    if worst is None:
        return group[0]
    return [one for one in group if one.line.severity and SEVERITIES.index(one.line.severity) == worst][-1]
