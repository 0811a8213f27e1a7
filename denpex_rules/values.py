"""Capture types: how a captured text looks, and the one canonical value that it stands for.

A type has a regex (RE2 syntax, no groups), a parser from text to a canonical value, and a base for comparison: two fields
compare only when their bases are equal. A parser returns None for text that has the shape but is not a value; the event
then does not match. Sources of the shapes: NVRM, SXid, AER and NCCL spellings of PCI addresses as their emitters print them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from attrs import frozen

from denpex_rules.clock import SECOND, UNITS

Value = int | float | str | tuple[int, ...]

REMEMBERED: Final = 1024  # texts of one kind and their values: the lines of a log name the same few devices and hosts


@frozen
class CaptureType:
    """One capture type: `{name:NAME}` in a template.

    `pattern` is what may stand there; `parse` gives the canonical value, None for a text that is none; `base` decides what it
    may be compared with; `example` is shown in documentation and diagnostics.
    """

    name: str
    pattern: str
    parse: Callable[[str], Value | None]
    base: str
    example: str
    summary: str


@lru_cache(REMEMBERED)
def parse_pci(text: str) -> str | None:
    """Return any printed PCI address as `dddd:bb:dd` (lower case, no function), None when it is none.

    Accepts `0000:41:00`, `41:00.0`, `00000000:41:00.0`, `(0000:03:00)` and a trailing function; kernel lines omit it, so
    the canonical form has none.
    """
    match = re.fullmatch(r"\(?(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.[0-9a-fA-F])?\)?", text.strip())
    if match is None:
        return None
    domain = int(match[1] or "0", 16)
    return f"{domain:04x}:{match[2].lower()}:{match[3].lower()}"


@lru_cache(REMEMBERED)
def parse_busid(text: str) -> str | None:
    """Return an NCCL busId (hex of domain, bus, device, function with leading zeros gone) as `dddd:bb:dd`.

    NCCL strips `:` and `.` from the bus id and prints the number with %lx: `1b000` is 0000:1b:00.0.
    """
    digits = text.lower().removeprefix("0x")
    if not re.fullmatch(r"[0-9a-f]{1,16}", digits):
        return None
    number = int(digits, 16)
    return f"{number >> 20:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}"


@lru_cache(REMEMBERED)
def parse_host(text: str) -> str:
    """Return a host name in the form that joins: lower case, cut at the first dot unless it is an IPv4 address."""
    lowered = text.lower().strip(".")
    return lowered if re.fullmatch(r"[\d.]+|.*:.*", lowered) else lowered.split(".")[0]


@lru_cache(REMEMBERED)
def parse_address(text: str) -> str:
    """Return a network address without its port: `[10.0.0.7]:29500`, `10.0.0.7<41234>`, `node-07:29500` -> the host part."""
    inner = re.sub(r"<\d+>$", "", text.strip())
    bracketed = re.match(r"\[([^\]]+)\]", inner)
    if bracketed:
        inner = bracketed[1]
    elif inner.count(":") == 1:
        inner = inner.split(":")[0]
    inner = inner.removeprefix("::ffff:")
    return parse_host(inner)


def parse_bytes(text: str) -> int | None:
    """Return a size as whole bytes. torch prints binary units ("2.50 GiB"); kernel lines print kB meaning KiB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    if match is None:
        return None
    factor = _SIZES.get(match[2].lower())
    return None if factor is None else round(float(match[1]) * factor)


_SIZES: Final = {
    "": 1,
    "b": 1,
    "byte": 1,
    "bytes": 1,
    **{f"{p}{s}": 1024 ** (i + 1) for i, p in enumerate("kmgtpe") for s in ("b", "ib")},
    **{p: 1024 ** (i + 1) for i, p in enumerate("kmgt")},
}


def parse_ranks(text: str) -> tuple[int, ...] | None:
    """Return a printed list of ranks ("1, 3", "[1, 3]", "0-3,7") as sorted distinct numbers."""
    ranks: set[int] = set()
    for part in re.split(r"[,\s]+", text.strip("[]() ")):
        match = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", part)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first > MAX_RANKS:
            return None
        ranks.update(range(first, last + 1))
    return tuple(sorted(ranks)) or None


MAX_RANKS: Final = 1_000_000  # a range wider than this is not a list of ranks but an attack on memory


def _integer(text: str) -> int | None:
    return int(text) if len(text) <= 40 else None


def _hexadecimal(text: str) -> int | None:
    return int(text, 16) if len(text) <= 40 else None


def _scaled(unit: str) -> Callable[[str], int | None]:
    factor = UNITS[unit]
    return lambda text: round(float(text) * factor) if len(text) <= 40 else None


def _clock_span(text: str) -> int | None:
    parts = [float(p) for p in text.split(":")]
    return round(sum(p * 60.0**i for i, p in enumerate(reversed(parts))) * SECOND)


_NUMBER = r"\d+(?:\.\d+)?"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"

BUILTIN: Final[Mapping[str, CaptureType]] = {
    t.name: t
    for t in (
        CaptureType("text", r"[^\n]*?", str, "text", "anything", "any text up to what follows in the template; may be empty"),
        CaptureType("word", r"[^\s,;:()\[\]{}'\"]+", str, "text", "python3", "one run without spaces, quotes or brackets"),
        CaptureType("path", r"[^\s'\",;]+", str, "text", "/data/x.pt", "a file path without spaces"),
        CaptureType("int", r"[+-]?\d+", _integer, "int", "-9", "a whole number"),
        CaptureType("hex", r"(?:0[xX])?[0-9a-fA-F]+", _hexadecimal, "int", "0x1f", "a hexadecimal number"),
        CaptureType("float", r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", float, "float", "1.5e-4", "a decimal number"),
        CaptureType("seq", r"\d+", _integer, "int", "8412", "a sequence number of one process group"),
        CaptureType("rank", r"\d+", _integer, "rank", "5", "a global rank"),
        CaptureType("group_rank", r"\d+", _integer, "group_rank", "1", "a rank inside a process group: never a global rank"),
        CaptureType("local_rank", r"\d+", _integer, "local_rank", "3", "a rank on one host: never a global rank"),
        CaptureType("ranks", r"\[?\d+(?:-\d+)?(?:,\s*\d+(?:-\d+)?)*\]?", parse_ranks, "ranks", "[1, 3]", "a list of global ranks"),
        CaptureType("pid", r"\d+", _integer, "pid", "4242", "a process id"),
        CaptureType("host", _HOST, parse_host, "host", "node-07", "a host name; joins on its short form"),
        CaptureType(
            "address",
            r"(?:\[[0-9A-Za-z.:_-]+\](?::\d+)?|[0-9A-Za-z](?:[0-9A-Za-z._-]*[0-9A-Za-z])?(?::\d+|<\d+>)?)",
            parse_address,
            "host",
            "[10.0.0.7]:29500",
            "a network address; its port is dropped",
        ),
        CaptureType(
            "pci",
            r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?",
            parse_pci,
            "device",
            "0000:41:00",
            "a PCI address in any spelling; canonical dddd:bb:dd",
        ),
        CaptureType("busid", r"(?:0x)?[0-9a-fA-F]+", parse_busid, "device", "1b000", "an NCCL busId; canonical dddd:bb:dd"),
        CaptureType("device", r"[0-9A-Za-z_:.-]+", str, "device", "mlx5_3", "another device name, as printed"),
        CaptureType("bytes", _NUMBER + r" ?(?:[KMGTPE]i?B|[kmg]B|[Bb]ytes?|B)?", parse_bytes, "bytes", "2.50 GiB", "a size"),
        CaptureType("ns", _NUMBER, _scaled("ns"), "duration", "1000", "a number of nanoseconds"),
        CaptureType("us", _NUMBER, _scaled("us"), "duration", "1000", "a number of microseconds"),
        CaptureType("ms", _NUMBER, _scaled("ms"), "duration", "1800000", "a number of milliseconds"),
        CaptureType("s", _NUMBER, _scaled("s"), "duration", "60", "a number of seconds"),
        CaptureType("min", _NUMBER, _scaled("m"), "duration", "30", "a number of minutes"),
        CaptureType("hms", r"\d+:\d\d(?::\d\d)?(?:\.\d+)?", _clock_span, "duration", "0:30:00", "a duration as [h:]mm:ss"),
        CaptureType("job", r"[A-Za-z0-9][A-Za-z0-9._-]*", str, "job", "4711", "a job id"),
    )
}

# What every sighting has beside its captures: the actor's fields, by the base they compare with.
ACTOR_FIELDS: Final[Mapping[str, str]] = {
    "rank": "rank",
    "local_rank": "local_rank",
    "host": "host",
    "device": "device",
    "pid": "pid",
    "job": "job",
}

NUMERIC: Final = frozenset({"int", "float", "bytes", "duration", "rank", "local_rank", "group_rank", "pid"})


def format_value(value: Value) -> str:
    """Return a value as it is shown in texts."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value)
