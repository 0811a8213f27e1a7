"""The plain lines of one source, learned while it is read, so that they need not be read one by one.

Most lines of a log have one of a few forms and tell no more than that their emitter spoke at some second. A form is learned
from a line that was read in full: number by number `peel` is asked what its prefix gives. The numbers that tell the emitter and
those that tell the second are captured, the others vary freely, all else is fixed. Whatever in a message could be read as more
than a message (another record, JSON, a severity, a kind's own token) makes a line not plain.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final, Literal

from attrs import define, evolve, field, frozen

from denpex_rules.care import BEGINS
from denpex_rules.clock import SECOND, Instant, whole_seconds
from denpex_rules.formats import ends, settles
from denpex_rules.record import Line
from denpex_rules.rule import SEVERITIES

FORMS: Final = 48  # of one source
TRIES: Final = 512  # prefixes of one source that are looked at
PREFIX: Final = 300  # bytes; a longer prefix is not learned
MESSAGE: Final = 4_000  # bytes; a longer line is no plain line
KNOWN: Final = 200_000  # numbers of emitters that are remembered; then they are looked up anew
SECONDS: Final = 10_000  # the same of seconds
SHAPES: Final = 20_000  # the same of shapes of messages
DIGITS: Final = 7  # of a number of an emitter or of nothing; formats take no more

Peel = Callable[[bytes], Line]
Role = Literal["who", "when", "free", "fixed"]
Row = tuple[bytes, ...]
Who = bytes | Row  # the numbers of an emitter, and the form
When = bytes | Row  # those of a time
Key = tuple[Who, When]
Form = tuple[int, bytes] | None

_ERRORS: Final = frozenset(SEVERITIES[SEVERITIES.index("error") :])
_DIGITS: Final = re.compile(rb"\d+")
_NUMBER: Final = rb"\d{1,%d}" % DIGITS
_WORDS: Final = re.compile(rb"[A-Za-z_]{1,30}[ :=][^\s\d]{0,30}(?<!\[)[ :=]?")
_CLOCK: Final = re.compile(rb"((?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:)([0-5]\d)")
_SAME: Final = bytes.maketrans(b"0123456789", b"0000000000")


def shape(text: bytes) -> bytes:
    """Return a text with all its digits alike."""
    return text.translate(_SAME)


@frozen
class Step:
    """One stretch of a prefix: a text that is always the same, or a number.

    Args:
        role: what the number tells; "fixed" for a text.
        text: the text; empty for a number.
        width: how many digits the number has; 0: one to seven, as it comes.
    """

    role: Role
    text: bytes = b""
    width: int = 0

    @property
    def pattern(self) -> bytes:
        """The step as a regex."""
        if self.role == "fixed":
            return re.escape(self.text)
        return rb"\d{%d}" % self.width if self.width else _NUMBER


@frozen
class Tail:
    """What follows the last number of a prefix: its end, and the first words of the message where these belong to the form."""

    end: bytes
    words: bytes = b""

    @property
    def pattern(self) -> bytes:
        """The tail as a regex."""
        return re.escape(self.end) + (BEGINS + re.escape(self.words) if self.words else b"")


@define
class Prefix:
    """One prefix up to its last number, and what may follow it."""

    steps: tuple[Step, ...]
    pattern: bytes  # the steps as a regex
    roles: tuple[Role, ...]  # of its groups
    least: int  # bytes
    tails: list[Tail] = field(factory=list)
    settled: set[bytes] = field(factory=set)  # what follows it where the prefix tells kind and severity, as it is


class Forms:
    """The forms of the plain lines of one source."""

    def __init__(self, peel: Peel) -> None:
        """Know no form yet; `peel` reads one line of the source."""
        self._peel = peel
        self._tried: dict[bytes, int] = {}
        self._prefixes: dict[bytes, Prefix] = {}
        self._count = 0
        self.shortest = 0  # no prefix is shorter
        self.settled: set[Form] = set()  # the forms whose prefix tells kind and severity
        self._grown = False
        self._lines: Any = None
        self._head: Any = None
        self._who: Callable[[Row], Who] = itemgetter(0)
        self._when: Callable[[Row], When] = itemgetter(0)
        self.plains: dict[Who, Line] = {}  # by the numbers of the emitter: what lines tell beside text and time
        self.seconds: dict[When, Instant] = {}  # by the numbers of the time: the whole seconds that they stand for
        self._minutes: dict[When, Instant] = {}  # the first second of minutes, by the numbers before those of a second
        self._odd: set[Who | When] = set()  # numbers of lines that are not plain after all

    # ---- learning

    def learn(self, raw: bytes, line: Line) -> None:
        """Look at a line that was read in full; a form that is seen for the second time is learned."""
        body = _body(raw, line)
        if not body or self._count >= FORMS or len(self._tried) >= TRIES:
            return
        skeleton = _DIGITS.sub(b"0", raw[:body])
        seen = self._tried.get(skeleton, 0)
        self._tried[skeleton] = seen + 1
        if seen != 1:
            return
        prefix = self._examine(raw, body, line)
        if prefix is None:
            return
        found = self._prefixes.setdefault(prefix.pattern, prefix)
        found.least = min(found.least, prefix.least)
        found.tails += [tail for tail in prefix.tails if tail not in found.tails]
        found.settled |= prefix.settled
        self._count += 1
        self._grown = True

    def _examine(self, raw: bytes, body: int, line: Line) -> Prefix | None:
        """Return what the numbers of a prefix tell, None where they don't tell it apart from each other."""
        steps: list[Step] = []
        position = 0
        for run in _DIGITS.finditer(raw, 0, body):
            role = self._role(raw, run.span(), line)
            if role is None:
                return None
            if role != "fixed":
                steps.append(Step("fixed", raw[position : run.start()]))
                free = role != "when" and len(run[0]) <= DIGITS
                steps.append(Step(role, width=0 if free else len(run[0])))
                position = run.end()
        begin = len(raw) - len(line.text) + line.body  # of the message; the first words of one may belong to the form
        if position >= begin or not any(step.role == "when" for step in steps):
            return None
        tail = Tail(raw[position:begin], raw[begin:body])
        pattern, roles = _grouped(steps)
        least = body - sum(len(run[0]) - 1 for run in _DIGITS.finditer(raw, 0, body))
        return Prefix(tuple(steps), pattern, roles, least, [tail], {raw[position:body]} if settles(line) else set())

    def _role(self, raw: bytes, span: tuple[int, int], line: Line) -> Role | None:
        """Return what one number tells; None where it tells the emitter and the time, or what no form can have."""
        for digit in _others(raw[span[1] - 1]):
            other = self._peel(raw[: span[1] - 1] + digit + raw[span[1] :])
            if _style(other) != _style(line) or other.instant.frame != line.instant.frame:
                continue
            who = (other.label, other.actor) != (line.label, line.actor)
            if other.instant == line.instant:
                return "who" if who else "free"
            if who:
                return None
            return "free" if self._is_fraction(raw, span, line) else "when"
        return "fixed"

    def _is_fraction(self, raw: bytes, span: tuple[int, int], line: Line) -> bool:
        second = whole_seconds(line.instant)
        length = span[1] - span[0]
        return all(
            whole_seconds(self._peel(raw[: span[0]] + digit * length + raw[span[1] :]).instant) == second for digit in (b"0", b"9")
        )

    # ---- reading

    def is_plain(self, raw: bytes, line: Line) -> bool:
        """Whether a line whose prefix has a known form is a plain line."""
        return _body(raw, line) > 0

    def fresh(self) -> list[Prefix] | None:
        """Return all prefixes that were learned, None where there are no new ones since this was asked last."""
        if not self._grown:
            return None
        self._grown = False
        return [*self._prefixes.values()]

    @property
    def any(self) -> bool:
        """Whether a form is in use."""
        return self._lines is not None

    def lines(self, block: bytes, start: int, end: int) -> list[Row]:
        """Return a row for each of some whole lines: a plain line and its numbers; else an empty item first, the line last."""
        return self._lines.findall(block, start, end)  # type: ignore[no-any-return]

    def head(self, block: bytes, start: int) -> tuple[Form, int]:
        """Return the form of the line that begins at `start`, and where its message begins; (None, start) when it is not plain."""
        match = self._head.match(block, start) if self._head else None
        if match is None:
            return None, start
        group = match.lastindex
        return (group, match[group]), match.end()

    def keys(self, rows: list[Row]) -> list[Key]:
        """Return the numbers of each line's emitter and those of its time."""
        return list(zip(map(self._who, rows), map(self._when, rows), strict=True))

    def look_up(self, rows: list[Row], keys: list[Key]) -> set[Key]:
        """Look up what the numbers of lines stand for, and return the keys of lines that are not plain after all."""
        whos, whens = set(map(itemgetter(0), keys)), set(map(itemgetter(1), keys))
        if not (whos <= self.plains.keys() and whens <= self.seconds.keys()):
            for (who, when), row in zip(keys, rows, strict=True):
                if who not in self.plains:
                    self._look_up_who(who, row)
                if when not in self.seconds:
                    self._look_up_when(when, row)
        odd = {(who, when) for who, when in keys if who in self._odd or when in self._odd} if self._odd else set()
        clocks = {self.plains[who].instant.frame for who in whos} | {self.seconds[when].frame for when in whens}
        if len(clocks) > 1:  # the numbers of an emitter stand for one clock
            odd |= {(who, when) for who, when in keys if not self.plains[who].instant.comparable(self.seconds[when])}
        return odd

    def bad(self, keys: list[Key]) -> set[Who]:
        """Return the numbers of emitters whose lines are errors."""
        return {who for who in set(map(itemgetter(0), keys)) if self.plains[who].severity in _ERRORS}

    def _look_up_who(self, who: Who, row: Row) -> None:
        line = self._peel(row[0][:-1])
        self.plains[who] = evolve(line, text=b"")
        if not row[0] or not _body(row[0][:-1], line):
            self._odd.add(who)

    def _look_up_when(self, when: When, row: Row) -> None:
        minute, second = _minute(when)
        begin = self._minutes.get(minute) if minute is not None else None
        if begin is not None:
            self.seconds[when] = begin.shift(second)
            return
        instant = self._peel(row[0][:-1]).instant
        self.seconds[when] = whole_seconds(instant)
        if not row[0] or not instant.known:
            self._odd.add(when)
        elif minute is not None:
            self._minutes[minute] = self.seconds[when].shift(-second)

    def refresh(self) -> None:
        """Take into use what was learned; until then all lines are told apart by the same forms."""
        if self._grown:
            self._grown = False
            self._build()
        if len(self.seconds) > SECONDS:
            self.seconds.clear()
            self._minutes.clear()
        if len(self.plains) + len(self._odd) > KNOWN:
            self._forget()

    def _build(self) -> None:
        """Make the regexes anew; those of forms known before keep the numbers of their groups."""
        parts = [p.pattern + b"(" + b"|".join(t.pattern for t in p.tails) + b")" for p in self._prefixes.values()]
        heads = rb"(?:" + b"|".join(parts) + rb")" + BEGINS
        self._lines = re.compile(rb"(" + heads + rb"[^\n]{0,%d}+\n)|([^\n]*+\n)" % MESSAGE)
        self._head = re.compile(heads)
        self.shortest = min(p.least for p in self._prefixes.values())
        roles = [role for p in self._prefixes.values() for role in (*p.roles, "who")]
        groups = accumulate(len(p.roles) + 1 for p in self._prefixes.values())
        self.settled = {(group, tail) for group, p in zip(groups, self._prefixes.values(), strict=True) for tail in p.settled}
        self._who = itemgetter(*(i for i, role in enumerate(roles, 1) if role == "who"))
        self._when = itemgetter(*(i for i, role in enumerate(roles, 1) if role == "when"))
        self._forget()

    def _forget(self) -> None:
        self.plains.clear()
        self.seconds.clear()
        self._minutes.clear()
        self._odd.clear()


def _minute(when: When) -> tuple[When | None, int]:
    """Return the numbers of a time without those of its second, and the second in ns; (None, 0) for a time of another style."""
    parts = (when,) if isinstance(when, bytes) else when
    told = [(place, part) for place, part in enumerate(parts) if part]
    match = _CLOCK.fullmatch(told[0][1]) if len(told) == 1 else None
    return ((b"%d" % told[0][0], match[1]), int(match[2]) * SECOND) if match else (None, 0)


def _body(raw: bytes, line: Line) -> int:
    """Return where the message of a plain line begins; 0 when the line is none."""
    told = line.head and not line.partial and not line.repeats
    wall = line.instant.known and line.instant.clock != "monotonic"
    if not told or not wall or not line.layout or not raw.endswith(line.text):
        return 0
    body = len(raw) - len(line.text) + line.body
    if not ends(line.layout):  # another prefix could stand where the message begins: its first words belong to the form
        words = _WORDS.match(raw, body)
        if words is None:
            return 0
        body = words.end()
    return body if body <= PREFIX and len(raw) - body < MESSAGE else 0


def _style(line: Line) -> tuple[Any, ...]:
    """Return all that lines of one form have in common, but for their emitter and time."""
    return (
        line.layout,
        line.severity,
        line.kind,
        line.head,
        line.repeats,
        line.partial,
        len(line.text),
        line.body,
        line.instant.known,
    )


def _others(digit: int) -> list[bytes]:
    """Return the other digits, the nearest first: the next day or second is one too, most often."""
    return [b"%c" % other for other in sorted(b"0123456789", key=lambda d: (abs(d - digit), d)) if other != digit]


def _grouped(steps: list[Step]) -> tuple[bytes, tuple[Role, ...]]:
    """Return one regex with a group for each stretch of numbers that tell the same, and what the groups tell."""
    pattern, roles, open_role = b"", [], ""
    waiting = b""  # fixed text: inside of a group where the same goes on behind it
    for step in steps:
        text, role = step.pattern, step.role
        if role == "fixed":
            waiting += text
        elif role == "free":
            pattern += (b")" if open_role else b"") + waiting + text
            waiting, open_role = b"", ""
        elif role == open_role:
            pattern += waiting + text
            waiting = b""
        else:
            pattern += (b")" if open_role else b"") + waiting + b"(" + text
            waiting, open_role = b"", role
            roles.append(role)
    return pattern + (b")" if open_role else b"") + waiting, tuple(roles)
