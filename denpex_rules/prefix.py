"""What one line prefix is, and what reading prefixes collects. The tables of wrappers and leaves are made of these.

A wrapper was put in front of a line by something that passed it on (a launcher, a container runtime, syslog) and is peeled. A
leaf was printed by the process itself and stays in the text. A weak wrapper matches ordinary text too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, Final, Literal

from attrs import frozen

from denpex_rules import stamps
from denpex_rules.clock import Instant
from denpex_rules.record import Hints
from denpex_rules.rule import Kind, LogSeverity
from denpex_rules.values import parse_host

Match = re.Match[bytes]
Role = Literal["wrapper", "weak", "leaf"]
Stem = Literal["", "[", "iso", "[iso"]

ISO: Final = rb"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?"
ZONE: Final = rb"(Z|[+-]\d\d:?\d\d)(?![\d:])"
ZONED: Final = rb"(?:(?<=Z)|(?<=[+-]\d\d:\d\d)|(?<=[+-]\d{4}))"  # behind an ISO stamp that has a zone
MONTH: Final = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
CLOCK: Final = rb"\d\d:\d\d:\d\d"
CTIME: Final = rb"[A-Z][a-z]{2} (" + MONTH + rb") ([ \d]\d) (" + CLOCK + rb") (\d{4})"
HOST: Final = rb"[A-Za-z0-9][\w.-]{0,254}"
LEVEL: Final = rb"(?:TRACE|DEBUG|INFO|NOTICE|SUCCESS|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"

# The bytes that names begin with.
MONTHS: Final = b"ADFJMNOS"
DAYS: Final = b"FMSTW"
LEVELS: Final = b"CDEFINSTW"

UPPER: Final = bytes(range(65, 91))
LOWER: Final = bytes(range(97, 123))
DIGIT: Final = b"0123456789"
WORD: Final = UPPER + LOWER + DIGIT + b"_"

SEVERITY: Final[dict[bytes, LogSeverity]] = {
    b"T": "debug",
    b"V": "debug",
    b"D": "debug",
    b"I": "info",
    b"W": "warning",
    b"E": "error",
    b"F": "fatal",
    b"C": "fatal",
    b"TRACE": "debug",
    b"DEBUG": "debug",
    b"DEBUG2": "debug",
    b"VERBOSE": "debug",
    b"CALL": "debug",
    b"INFO": "info",
    b"NOTICE": "info",
    b"SUCCESS": "info",
    b"NORMAL": "info",
    b"DIAG": "info",
    b"WARN": "warning",
    b"WARNING": "warning",
    b"ERROR": "error",
    b"ERR": "error",
    b"ABORT": "error",
    b"CRITICAL": "fatal",
    b"CRIT": "fatal",
    b"FATAL": "fatal",
    b"ALERT": "fatal",
    b"EMERG": "fatal",
    b"EMERGENCY": "fatal",
    b"PANIC": "fatal",
    b"DEBU": "debug",
    b"ERRO": "error",
    b"FATA": "fatal",
}
PRIORITY: Final[tuple[LogSeverity, ...]] = ("fatal", "fatal", "fatal", "error", "warning", "info", "info", "debug")


def text_of(value: bytes | None) -> str:
    """Return printed bytes as text; what is no UTF-8 is shown escaped."""
    return value.decode("utf-8", "backslashreplace") if value else ""


@lru_cache(maxsize=4096)
def host_of(printed: bytes) -> str:
    """Return a printed host name or address in the form that joins."""
    return parse_host(text_of(printed))


class Prefixes:
    """What the prefixes of one line say, collected from the outside to the inside. Lives for one `peel`."""

    # Class-level defaults keep the creation of one of these per line cheap: most lines set two or three.
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None  # a launcher's number of its task: the rank, unless the task is a node
    host: str | None = None
    pid: int | None = None
    stamp: Instant | None = None  # of the innermost prefix that has one
    outer: Instant | None = None  # of a prefix around it, in a known year
    severity: LogSeverity | None = None
    kind: Kind | None = None
    tee: str = ""
    tag: str = ""  # of the rank prefix
    process: str = ""  # NCCL's host:pid, Ray's and vLLM's name and pid
    ident: str = ""  # syslog's host, program and pid
    stream: str = ""
    leaf: bool = False
    end: int = 0  # where the leaf ends
    program: bool = False  # syslog names the program that printed
    several: bool = False  # more than one rank speaks in the line
    arrives: bool = False  # the wrapper around prints when a line arrived, not when it was written
    logger: str = ""  # the name of a user's format that gives a level
    whole: bool = False  # a logger's own record in one piece: it continues none
    row: bool = False  # a row of a block: it goes on with the record before it
    partial: bool = False  # the container runtime cut the line; it goes on in the stream's next one
    layout: tuple[str, ...] = ()

    def __init__(self, hints: Hints) -> None:
        self.hints = hints

    def time(self, stamp: Instant | None) -> None:
        """Take a stamp; one further inside wins, and keeps the outer one's year at hand."""
        if stamp is None:
            return
        if self.stamp is not None and self.stamp.year:
            self.outer = self.stamp
        self.stamp = stamp

    def arrival(self, stamp: Instant | None) -> None:
        """Take the stamp of a wrapper that prints when a complete line arrived."""
        self.time(stamps.arrival(stamp))

    def level(self, token: bytes) -> None:
        """Take a severity word or letter as printed; an unknown word tells nothing."""
        self.severity = SEVERITY.get(token) or SEVERITY.get(token.upper())

    def adopt(self, inner: Prefixes) -> None:
        """Take what a record inside the line says, where it says anything; it is further inside than what was read before."""
        self.time(inner.stamp)
        self.layout += inner.layout
        for name in ("rank", "local_rank", "task", "host", "pid", "severity", "kind", "tee", "tag", "process", "ident"):
            value = getattr(inner, name)
            if value is not None and value != "":
                setattr(self, name, value)

    def priority(self, number: bytes) -> None:
        """Take a syslog `<pri>` number: facility times 8 plus severity."""
        self.severity = PRIORITY[int(number) & 7]


_RARE_FIRST: Final = b"zqj()[]x=_k9vy78b4w6f5,/-:.3210hgumpdclsrniotae "  # bytes of logs; all others are rarer

# The standard library's own regex parser has no public name.
_parser: Final[Any] = import_module("re._parser")


def needed(pattern: bytes) -> int | None:
    """Return the rarest byte that every match of a pattern contains; None where there is none for certain."""
    return min(_fixed(_parser.parse(pattern)), key=_RARE_FIRST.find, default=None)


def _fixed(tree: Any) -> Iterator[int]:
    """Yield the bytes that every match of a parsed pattern contains."""
    for token, argument in tree:
        match str(token):
            case "LITERAL":
                yield argument
            case "SUBPATTERN":
                yield from _fixed(argument[3])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if argument[0] >= 1:
                yield from _fixed(argument[2])


Read = Callable[[Match, Prefixes], None]


@frozen
class Format:
    """One line prefix: how it looks, and what it gives.

    Args:
        name: as layouts in coverage show it.
        role: wrapper, weak (a wrapper that needs evidence from the whole file) or leaf.
        stem: what stands before `pattern`: nothing, a bracket, an ISO stamp, a bracket and an ISO stamp. Stems are matched once
            for all formats that share them; an ISO stamp is already taken when `read` is called.
        starts: the bytes that can follow the stem; the look-up of candidates goes by them.
        text: the rest as a regex, anchored where the stem ends.
        read: puts what the match says into a `Prefixes`.
        example: a line, for documentation and tests.
        gives: what it gives, for documentation.
        compiler: what compiles `text`, when a line first has a byte that it can start with.
    """

    name: str
    role: Role
    stem: Stem
    starts: bytes
    text: bytes
    read: Read
    example: str
    gives: str
    compiler: Callable[[bytes], Any] = re.compile

    @cached_property
    def pattern(self) -> Any:
        """The compiled pattern."""
        return self.compiler(self.text)

    @cached_property
    def needs(self) -> int | None:
        """A byte that stands in every match of the pattern, to see fast that a line has none; None where none does for certain."""
        return needed(self.text)


class Registry:
    """The formats of one module, each declared in front of its reader, in the order in which they are tried."""

    def __init__(self) -> None:
        self.formats: list[Format] = []

    def add(self, role: Role, name: str, stem: Stem, starts: bytes, pattern: bytes, *told: str) -> Callable[[Read], Read]:
        """Return the decorator that registers a reader's format; `told` is its example and what it gives."""

        def register(read: Read) -> Read:
            example, gives = told
            self.formats.append(Format(name, role, stem, starts, pattern, read, example, gives))
            return read

        return register
