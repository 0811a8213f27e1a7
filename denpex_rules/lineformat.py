"""Log formats that a user or a plug-in writes as a line: `{time} {host} [{rank}] {level} {text}`.

They are tried in front of all others, where a line or what a wrapper leaves of it begins, and are peeled: `{text}` is read on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final

import re2
from attrs import frozen

from denpex_rules import stamps
from denpex_rules.clock import Instant
from denpex_rules.errors import UsageError
from denpex_rules.prefix import HOST, ISO, MONTH, ZONE, Format, Prefixes, host_of, text_of
from denpex_rules.record import LineFormat

LONGEST: Final = 1_000  # characters of one line of a format
MOST: Final = 20  # lines of one format
FREE: Final = 4  # fields of one line that take anything: what lies between them is looked for at each place

Groups = Mapping[str, bytes]


@frozen
class _Field:
    """What one field of a line looks like, and where it goes."""

    pattern: bytes
    take: Callable[[bytes, Prefixes], None]


def _rank(value: bytes, into: Prefixes) -> None:
    into.rank = int(value)
    into.tag = f"rank{into.rank}"
    into.kind = into.kind or "rank"


def _local_rank(value: bytes, into: Prefixes) -> None:
    into.local_rank = int(value)
    into.tag = into.tag or f"local{into.local_rank}"
    into.kind = into.kind or "rank"


def _task(value: bytes, into: Prefixes) -> None:
    into.task = int(value)


def _pid(value: bytes, into: Prefixes) -> None:
    into.pid = int(value)
    into.process = into.process or f"pid={into.pid}"


def _host(value: bytes, into: Prefixes) -> None:
    into.host = host_of(value)
    _emitter(value, into)


def _emitter(value: bytes, into: Prefixes) -> None:
    said = text_of(value)
    into.ident = f"{into.ident}/{said}" if into.ident else said


def _level(value: bytes, into: Prefixes) -> None:
    into.level(value)


def _stream(value: bytes, into: Prefixes) -> None:
    into.stream = text_of(value)


def _nothing(_value: bytes, _into: Prefixes) -> None:
    """Take nothing: the field only says what stands there."""


FIELDS: Final[Mapping[str, _Field]] = {
    "rank": _Field(rb"\d{1,7}", _rank),
    "local_rank": _Field(rb"\d{1,7}", _local_rank),
    "task": _Field(rb"\d{1,7}", _task),
    "pid": _Field(rb"\d{1,10}", _pid),
    "host": _Field(HOST, _host),
    "emitter": _Field(rb"[^\s]{1,200}?", _emitter),
    "level": _Field(rb"[A-Za-z]{1,12}", _level),
    "stream": _Field(rb"std(?:out|err)", _stream),
    "word": _Field(rb"[^\s]{1,200}?", _nothing),
    "any": _Field(rb"[^\n]{0,300}?", _nothing),
}
_FREE: Final = frozenset({"word", "any"})  # may stand more than once, and tell nothing

# `{time}` alone: ISO with or without fraction and zone, or seconds since 1970.
_STAMP: Final = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?|\d{9,10}(?:\.\d{1,9})?"
_STAMPED: Final = re.compile(ISO + rb"(?: ?" + ZONE + rb")?")

# The directives of `{time:%d.%m.%Y %H:%M:%S}`, by the names under which their values are kept.
_DIRECTIVES: Final[Mapping[str, tuple[str, bytes]]] = {
    "Y": ("year", rb"\d{4}"),
    "m": ("month", rb"\d{1,2}"),
    "b": ("month", MONTH),
    "d": ("day", rb"[ \d]?\d"),
    "H": ("hour", rb"\d{2}"),
    "M": ("minute", rb"\d{2}"),
    "S": ("second", rb"\d{2}"),
    "f": ("fraction", rb"\d{1,9}"),
    "z": ("zone", rb"Z|[+-]\d{2}:?\d{2}"),
    "s": ("epoch", rb"\d{9,10}"),
}
_SHORT: Final = {"T": "%H:%M:%S", "F": "%Y-%m-%d"}
_NEEDED: Final = {"month", "day", "hour", "minute", "second"}

_PIECE: Final = re.compile(r"\{\{|\}\}|\{(?P<name>\w*)(?::(?P<time>%[^{}]*))?\}|(?P<brace>[{}])|[ \t]+|[^{} \t]+")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


def check(form: LineFormat) -> None:
    """Raise UsageError where a format can't be read, gives nothing, or does not fit its own example; the message says where."""
    if not _NAME.fullmatch(form.name):
        raise UsageError(f"log format {form.name!r}: a name has small letters, digits and underscores")
    if not form.lines or len(form.lines) > MOST:
        raise UsageError(f"log format {form.name}: it needs one line at least, and has {MOST} at most")
    compiled(form)
    if form.example and not any(f.pattern.match(form.example.encode(), 0) for f in compiled(form)):
        reached = max(_reach(form, line) for line in form.lines)
        rest = form.example.encode()[reached:].decode("utf-8", "replace")
        raise UsageError(f"log format {form.name}: the example does not fit from {rest[:40]!r} on")


@lru_cache(maxsize=256)
def compiled(form: LineFormat) -> tuple[Format, ...]:
    """Return the format as prefixes that are matched where a line begins. Raises UsageError where a line can't be read."""
    return tuple(_format(form, line) for line in form.lines)


def _format(form: LineFormat, line: str) -> Format:
    where = f"log format {form.name}: {line!r}"
    if len(line) > LONGEST:
        raise UsageError(f"{where:.80}…: a line has {LONGEST} characters at most")
    pieces = [piece for piece, _ in _pieces(line, where)]
    takers = [take for _, take in _pieces(line, where) if take is not None]
    leveled = "{level}" in line

    def read(match: Any, into: Prefixes) -> None:
        said = {name.decode(): value for name, value in match.groupdict().items() if value is not None}
        for take in takers:
            take(said, into)
        if form.arrival:
            into.stamp = stamps.arrival(into.stamp)
        into.kind = form.kind or into.kind
        into.logger = form.name if leveled else ""

    made = Format(
        form.name, "wrapper", "", b"", b"".join(pieces), read, form.example, "what its line names", partial(_compile, where=where)
    )
    _ = made.pattern  # a mistake is told now
    return made


def _compile(pattern: bytes, where: str) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise UsageError(f"{where}: {text_of(error.args[0])}") from error


def _reach(form: LineFormat, line: str) -> int:
    """Return how far the example fits one line of the format."""
    where = f"log format {form.name}: {line!r}"
    pieces = [piece for piece, _ in _pieces(line, where)]
    for count in range(len(pieces), 0, -1):
        match = _compile(b"".join(pieces[:count]), where).match(form.example.encode(), 0)
        if match:
            return int(match.end())
    return 0


Take = Callable[[Groups, Prefixes], None]


def _pieces(line: str, where: str) -> Iterator[tuple[bytes, Take | None]]:
    """Yield what the line is made of: a regex of each piece, and what takes its value."""
    if not line.endswith("{text}") or line.count("{text}") > 1:
        raise UsageError(f"{where}: it must end with {{text}}, the message")
    seen: set[str] = set()
    free = 0
    last, end = "", len(line) - len("{text}")
    for match in _PIECE.finditer(line, 0, end):
        name, time, said = match["name"], match["time"], match[0]
        if match["brace"]:
            raise UsageError(f"{where}: a brace that is no field's is doubled: {{{{ or }}}}")
        if name is None:
            # More blanks than are written are padding, but in front of a message they are its indentation, behind a level padding.
            exact = match.end() == end and last != "level"
            blanks = rb"[ \t]{%d}" % len(said) if exact else rb"[ \t]+"
            yield (blanks if said.isspace() else re.escape(said.replace("{{", "{").replace("}}", "}")).encode()), None
            last = ""
            continue
        last = name
        free += name == "any"
        if free > FREE:
            raise UsageError(f"{where}: it has more than {FREE} fields {{any}}")
        if name in seen and name not in _FREE:
            raise UsageError(f"{where}: {{{name}}} stands there twice")
        seen.add(name)
        yield _field(name, time, where)
    if not seen - _FREE:
        raise UsageError(f"{where}: it gives nothing; name at least one of {_known()}")


def _known() -> str:
    return ", ".join(["time", *(name for name in FIELDS if name not in _FREE)])


def _field(name: str, time: str | None, where: str) -> tuple[bytes, Take | None]:
    if name == "time":
        return _time(time, where) if time else (rb"(?P<time>" + _STAMP + rb")", _take_stamp)
    if name not in FIELDS:
        raise UsageError(f"{where}: unknown field {{{name}}}; known: {_known()}, {', '.join(sorted(_FREE))}, text")
    if time:
        raise UsageError(f"{where}: only {{time}} has a form of its own")
    field = FIELDS[name]
    if name in _FREE:
        return rb"(?:" + field.pattern + rb")", None
    group = name.encode()

    def take(said: Groups, into: Prefixes) -> None:
        field.take(said[name], into)

    return rb"(?P<" + group + rb">" + field.pattern + rb")", take


def _take_stamp(said: Groups, into: Prefixes) -> None:
    iso = _STAMPED.fullmatch(said["time"])
    if iso:
        into.time(stamps.iso(iso[1], iso[2], iso[3]))
    else:
        seconds, _, fraction = said["time"].partition(b".")
        into.time(stamps.epoch(seconds, fraction or None))


def _time(form: str, where: str) -> tuple[bytes, Take]:
    """Return the regex of a time that is written with strftime's directives, and what takes it."""
    for short, long in _SHORT.items():
        form = form.replace(f"%{short}", long)
    pattern, seen = b"", set()
    for directive, text in re.findall(r"%(.)|([^%]+)", form):
        if directive == "%":
            pattern += b"%"
        elif directive:
            if directive not in _DIRECTIVES:
                known = " ".join(f"%{d}" for d in (*_DIRECTIVES, *_SHORT))
                raise UsageError(f"{where}: unknown directive %{directive}; known: {known} %%")
            name, digits = _DIRECTIVES[directive]
            if name in seen:
                raise UsageError(f"{where}: %{directive} says the {name} for the second time")
            seen.add(name)
            pattern += b"(?P<" + name.encode() + b">" + digits + b")"
        else:
            pattern += re.sub(r"(?:\\ )+", r"[ \\t]+", re.escape(text)).encode()
    missing = sorted(_NEEDED - seen)
    if missing and "epoch" not in seen:
        raise UsageError(f"{where}: the time has no {', no '.join(missing)}; a time of day without its day is no instant")

    def take(said: Groups, into: Prefixes) -> None:
        into.time(_instant(said))

    return pattern, take


def _instant(said: Groups) -> Instant | None:
    if "epoch" in said:
        return stamps.epoch(said["epoch"], said.get("fraction"))
    clock = b":".join(said[name] for name in ("hour", "minute", "second"))
    month, day = said["month"], said["day"].strip()
    if "year" not in said:
        return stamps.named(month, day, clock, said.get("fraction"))
    number = stamps.MONTHS.get(month) or int(month)
    date = b"%b-%02d-%02d %b" % (said["year"], number, int(day), clock)
    return stamps.iso(date, said.get("fraction"), said.get("zone"))
