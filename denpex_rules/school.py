"""How the forms of plain lines are learned, and what was learned of one source handed on to those like it.

A form is learned from a line that was read in full: number by number `peel` is asked what its prefix gives. The numbers that tell
the emitter and those that tell the second are captured, the others vary freely, all else is fixed.

That all lines of a form read alike is true of each source of a school or of none. So what one source teaches makes the others
faster, and no other difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from attrs import define, evolve, field, frozen

from denpex_rules.care import BEGINS, CARE, MARKS
from denpex_rules.clock import whole_seconds
from denpex_rules.formats import describe, ends_surely, settles
from denpex_rules.record import Hints, Line
from denpex_rules.sighting import Actor

SCHOOLS: Final = 64
COUNTED: Final = 4_096  # prefixes of lines that are counted until they are learned
TAUGHT: Final = 48  # prefixes of one school; then all are learned anew
PREFIX: Final = 300  # bytes; a longer prefix is not learned
MESSAGE: Final = 4_000  # bytes; a longer line is no plain line
DIGITS: Final = 7  # of a number of an emitter or of nothing; formats take no more

Peel = Callable[[bytes], Line]
Answers = dict[Any, Any]  # as `Screen` keeps them
Role = Literal["who", "when", "fraction", "free", "fixed"]  # a fraction is of a second: all of it is one second's

_DIGITS: Final = re.compile(rb"\d+")
_CLOCK: Final = re.compile(rb"(?:.*[^0:])?00:00:00", re.DOTALL)  # the numbers of a time, all digits alike
_DIGIT: Final = re.compile(rb"\d")
_NUMBER: Final = rb"\d{1,%d}" % DIGITS
# What no message of a form may begin with where it could be more of the prefix, by the bits of `Tail.claims`: a bracket; the name
# of a program with its pid, the kernel's, a facility's gap; any name of a program.
# And where only one word belongs to a form, its messages begin with a number: a second word makes another form.
BRACKET, SURE, NAME, NUMBER = 1, 2, 4, 8
_REFUSED: Final = {
    BRACKET: rb"(?!\[)",
    SURE: rb"(?!:|kernel:|[^\s:]{0,140}\]:)",
    NAME: rb"(?![^\s:]{0,140}:)",
    NUMBER: rb"(?=\d)",
}
# Messages that begin with what some formats read as more of their prefix, by what is refused then.
_BRACKETS: Final = (
    b"[Rank 3] x",
    b"[RANK 3] x",
    b"[deepspeed] OVERFLOW! Rank 3 x",
    b"[engine.py:96:log_dist] x",
    b"[engine.py:96:log_dist] [Rank 3] x",
    b"[engine.py:96] x",
    b"[name] x",
    b"[4242] x",
    b"[MainThread] x",
    b"[INFO] x",
    b"[ERROR] x",
    b"[error] x",
    b"[E] x",
)
_CLAIMS: Final = {
    BRACKET: _BRACKETS,
    SURE: (b"kernel: x", b"name[1]: x", b":err   : [1.000000] x"),
    NAME: (b"name: x",),
}
_WORDS: Final = re.compile(rb"[A-Za-z_]{1,30}[ :=][^\s\d]{0,30}(?<!\[)[ :=]?|\{'[A-Za-z_/]{1,30}': ")
_KEY: Final = b"{'"  # a dict that is printed begins so, as no message that begins with words does
_ONE_WORD: Final = re.compile(rb"[A-Za-z_]{1,30}[ :=]{1,2}")
_WORD: Final = re.compile(rb"(?<![^ \]:\[(|=-])(?=.)")  # where one begins
# Messages by which a logger that prints what is bound behind them tells who prints: none of its lines is plain.
_BOUND: Final = (b"step done rank=1", b"step done rank=2")
# What no line names, in place of what the places of sources name.
_STAND_INS: Final[dict[str, Any]] = {
    **dict.fromkeys(("rank", "local_rank", "pid", "attempt"), -1),
    **dict.fromkeys(("host", "device", "job"), "\0"),
}


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
    """What follows the last number of a prefix.

    Args:
        end: its end.
        words: the first words of the message, where these belong to the form.
        claims: what could be more of the prefix, as bits: then no message of the form begins with it; NUMBER: all begin with one.
    """

    end: bytes
    words: bytes = b""
    claims: int = 0

    @property
    def pattern(self) -> bytes:
        """The tail as a regex."""
        words = BEGINS + re.escape(self.words) if self.words else b""
        return re.escape(self.end) + words + b"".join(text for bit, text in _REFUSED.items() if self.claims & bit)


@define
class Prefix:
    """One prefix up to its last number, and what may follow it."""

    steps: tuple[Step, ...]
    pattern: bytes  # the steps as a regex
    roles: tuple[Role, ...]  # of its groups
    least: int  # bytes
    tails: list[Tail] = field(factory=list)
    settled: set[bytes] = field(factory=set)  # what follows it where the prefix tells kind and severity, as it is

    @property
    def timed(self) -> bool:
        """Whether it tells a time."""
        return any(step.role == "when" for step in self.steps)

    @property
    def clocked(self) -> bool:
        """Whether its time is one group that ends with minute and second, so that its hour tells the rest."""
        if self.roles.count("when") != 1:
            return False
        told = [place for place, step in enumerate(self.steps) if step.role == "when"]
        time = self.steps[told[0] : told[-1] + 1]
        digits = b"".join(step.text if step.role == "fixed" else b"0" * step.width for step in time)
        return _CLOCK.fullmatch(_DIGIT.sub(b"0", digits)) is not None

    @property
    def whole(self) -> bytes:
        """The prefix and what follows it as a regex, up to where the message begins."""
        return b"%s(?:%s)%s" % (self.pattern, b"|".join(tail.pattern for tail in self.tails), BEGINS)


@frozen
class _Shown:
    """What a line tells but for its message, and where that begins."""

    line: Line
    text: int
    body: int

    @property
    def place(self) -> tuple[object, ...]:
        """What tells where the message begins, whatever it is."""
        return self.line.layout, self.text, self.body

    @classmethod
    def of(cls, peel: Peel, prefix: bytes, message: bytes) -> _Shown:
        """Read a line that is put together."""
        line = peel(prefix + message)
        return cls(line.without_text(), len(line.text) - len(message), line.body)


class School:
    """The forms that were learned of sources that read their lines alike."""

    def __init__(self, peel: Peel) -> None:
        """Know no form yet; `peel` reads one line of any of the sources."""
        self.peel = peel
        self._known: dict[bytes, list[tuple[re.Pattern[bytes], Prefix]]] = {}  # by skeleton
        self._all: list[Prefix] = []
        self._any: re.Pattern[bytes] | None = None
        self._counts: Counter[bytes] = Counter()
        self._answers: WeakKeyDictionary[object, Answers] = WeakKeyDictionary()

    def shown(self, lines: Iterable[bytes]) -> list[Prefix]:
        """Return the known prefixes that lines have."""
        if not self._all:
            return []
        if self._any is None:
            self._any = re.compile(b"|".join(b"(%s)" % prefix.whole for prefix in self._all))
        found = {match.lastindex for line in lines if (match := self._any.match(line))}
        groups = accumulate((1 + len(prefix.roles) for prefix in self._all[:-1]), initial=1)
        return [prefix for prefix, group in zip(self._all, groups, strict=True) if group in found]

    def answers(self, matcher: object) -> Answers:
        """Return what is known of the events that lines of a form and a shape show, by the matcher that looks for them."""
        return self._answers.setdefault(matcher, {})

    def known(self, skeleton: bytes, raw: bytes) -> Prefix | None:
        """Return the prefix of a line, None where none was learned."""
        return next((prefix for pattern, prefix in self._known.get(skeleton, ()) if pattern.match(raw)), None)

    def count(self, skeleton: bytes) -> int:
        """Count a line whose prefix is not known, and return how many there were; after many others the count begins anew."""
        if len(self._counts) >= COUNTED and skeleton not in self._counts:
            self._counts.clear()
        self._counts[skeleton] += 1
        return self._counts[skeleton]

    def examine(self, skeleton: bytes, raw: bytes, body: int) -> Prefix | None:
        """Learn the prefix of a line whose message begins at `body`; None where no form can have it."""
        prefix = self._examine(raw, body)
        if prefix is None:
            return None
        if len(self._all) >= TAUGHT:
            self._known.clear()
            self._all.clear()
        self._known.setdefault(skeleton, []).append((re.compile(prefix.whole), prefix))
        self._all.append(prefix)
        self._any = None
        return prefix

    def _examine(self, raw: bytes, body: int) -> Prefix | None:
        """Return what the numbers of a prefix tell, None where they don't tell it apart from each other."""
        line = self.peel(raw)
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
        begin = _begin(raw, line)  # the first words of the message may belong to the form
        timed = any(step.role == "when" for step in steps)
        if (steps and position >= begin) or timed != line.instant.known:
            return None
        if len({self.peel(raw[:begin] + bound).actor for bound in _BOUND}) > 1:
            return None
        shown = _Shown.of(self.peel, raw[:body], b"x")
        if shown.place != _Shown.of(self.peel, raw[:body], raw[body:]).place:  # what follows belongs to the prefix: a space, say
            return None
        claims = sum(bit for bit, told in _CLAIMS.items() if any(_Shown.of(self.peel, raw[:body], text) != shown for text in told))
        if _ONE_WORD.fullmatch(raw, begin, body):
            claims |= NUMBER
        if not is_sure(line) and not self._is_message(raw[:body], shown, claims):
            return None
        if raw.startswith(_KEY, begin):
            begin = body
        tail = Tail(raw[position:begin], raw[begin:body], claims)
        pattern, roles = _grouped(steps)
        least = body - sum(len(run[0]) - 1 for run in _DIGITS.finditer(raw, 0, body))
        return Prefix(tuple(steps), pattern, roles, least, [tail], {raw[position:body]} if settles(line) else set())

    def _is_message(self, prefix: bytes, shown: _Shown, claims: int) -> bool:
        """Whether all that stands in lines of any format, but for what `claims` refuse, is a message behind a prefix."""
        begins = re.compile(BEGINS + b"".join(text for bit, text in _REFUSED.items() if claims & bit))
        return all(_Shown.of(self.peel, prefix, text) == shown for text in _anything() if begins.match(text))

    def _role(self, raw: bytes, span: tuple[int, int], line: Line) -> Role | None:
        """Return what one number tells; None where it tells the emitter and the time, or what no form can have."""
        for text in _others(raw[span[0] : span[1]]):
            other = self.peel(raw[: span[0]] + text + raw[span[1] :])
            if _style(other) != _style(line) or other.instant.frame != line.instant.frame:
                continue
            who = (other.label, other.actor) != (line.label, line.actor)
            if other.instant == line.instant:
                return "who" if who else "free"
            if who:
                return None
            return "fraction" if self._is_fraction(raw, span, line) else "when"
        return "fixed"

    def _is_fraction(self, raw: bytes, span: tuple[int, int], line: Line) -> bool:
        second = whole_seconds(line.instant)
        length = span[1] - span[0]
        return all(
            whole_seconds(self.peel(raw[: span[0]] + digit * length + raw[span[1] :]).instant) == second for digit in (b"0", b"9")
        )


@lru_cache(maxsize=1)
def _anything() -> tuple[bytes, ...]:
    """Return what stands in lines of all formats, from any word on, as far as a message may be that."""
    examples = [example.encode() for _, example, _ in describe()]
    found = {example[at.start() :] for example in examples for at in _WORD.finditer(example)}
    return tuple(sorted(text for text in found if not any(mark in text for mark in (*CARE, *MARKS))))


def school_of(peel: Callable[[bytes, Hints], Line], hints: Hints) -> School:
    """Return the school of the sources whose place claims the same, but for whom it names.

    Args:
        peel: reads one line.
        hints: what a source's place claims, and what many of its lines tell.
    """
    stands_for = {part: other for part, other in _STAND_INS.items() if getattr(hints.actor, part) is not None}
    return _school(peel, evolve(hints, actor=Actor(**stands_for), domain=""))


@lru_cache(maxsize=SCHOOLS)
def _school(peel: Callable[[bytes, Hints], Line], hints: Hints) -> School:
    return School(lambda raw: peel(raw, hints))


def skeleton_of(raw: bytes, body: int) -> bytes:
    """Return a line's prefix with all its numbers alike."""
    return _DIGITS.sub(b"0", raw[:body])


def body_of(raw: bytes, line: Line) -> int:
    """Return where the message of a plain line begins; 0 when the line is none."""
    told = line.head and not line.partial and not line.repeats
    if not told or not raw.endswith(line.text):
        return 0
    body = _begin(raw, line)
    if not ends_surely(line.layout):  # another prefix could stand where the message begins: its first words belong to the form
        words = _WORDS.match(raw, body)
        if words is None:
            return 0
        body = words.end()
    return body if body <= PREFIX and len(raw) - body < MESSAGE else 0


def is_sure(line: Line) -> bool:
    """Whether a line's prefix is that of a logger, with a time: whatever the message, it is no more of a prefix."""
    return line.instant.known and ends_surely(line.layout)


def _begin(raw: bytes, line: Line) -> int:
    """Return where the message of a line begins: a space between it and the prefix belongs to the prefix."""
    body = len(raw) - len(line.text) + line.body
    return body + raw.startswith(b" ", body)


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


def _others(number: bytes) -> Iterator[bytes]:
    """Yield numbers that differ in one digit, the nearest first: the next day is one too, most often, else one ten days before."""
    for place in (len(number) - 1, 0)[: len(number)]:
        for digit in sorted(b"0123456789", key=lambda d: (abs(d - number[place]), d)):
            if digit != number[place]:
                yield b"%b%c%b" % (number[:place], digit, number[place + 1 :])


def _grouped(steps: list[Step]) -> tuple[bytes, tuple[Role, ...]]:
    """Return one regex with a group for each stretch of numbers that tell the same, and what the groups tell."""
    pattern, roles, open_role = b"", [], ""
    waiting = b""  # fixed text: inside of a group where the same goes on behind it
    for step in steps:
        text, role = step.pattern, step.role
        if role == "fixed":
            waiting += text
        elif role in {"free", "fraction"}:
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
