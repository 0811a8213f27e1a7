"""The plain lines of one source, so that they need not be read one by one.

Most lines of a log have one of a few forms and tell no more than that their emitter spoke at some second. Whatever in a message
could be read as more than a message (another record, JSON, a severity, a kind's own token) makes a line not plain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final

from attrs import evolve

from denpex_rules.care import BEGINS
from denpex_rules.clock import SECOND, Instant, whole_seconds
from denpex_rules.record import Line
from denpex_rules.rule import SEVERITIES
from denpex_rules.school import MESSAGE, Answers, Peel, Prefix, School, body_of, is_sure, skeleton_of

FORMS: Final = 48  # of one source
TRIES: Final = 512  # prefixes of one source that are looked at
OFTEN: Final = 700  # lines of a prefix that is no logger's are read before it is learned, by all sources of its school
KNOWN: Final = 200_000  # numbers of emitters that are remembered; then they are looked up anew
SECONDS: Final = 10_000  # the same of seconds
SHAPES: Final = 20_000  # the same of shapes of messages

Row = tuple[bytes, ...]
Who = bytes | Row  # the numbers of an emitter, and the form
When = bytes | Row  # those of a time
Key = tuple[Who, When]
Form = tuple[int, bytes] | None

_ERRORS: Final = frozenset(SEVERITIES[SEVERITIES.index("error") :])
_CLOCK: Final = re.compile(rb"((?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:)([0-5]\d)")
_SAME: Final = bytes.maketrans(b"0123456789", b"0000000000")


def shape(text: bytes) -> bytes:
    """Return a text with all its digits alike."""
    return text.translate(_SAME)


class Forms:
    """The forms of the plain lines of one source."""

    def __init__(self, peel: Peel) -> None:
        """Know no form yet; `peel` reads one line of the source."""
        self._peel = peel
        self._school = School(peel)  # of its own
        self.untimed = True  # whether lines without a time can be plain
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

    def attend(self, school: School, lines: Iterable[bytes]) -> bool:
        """Learn together with other sources, and take at once what is known of lines like these. Returns whether anything is."""
        self._school = school
        shown = school.shown(lines)
        for prefix in shown:
            self._take(prefix)
        return bool(shown)

    def answers(self, matcher: object) -> Answers:
        """Return what sources like this one know of the events that lines show; see `School.answers`."""
        return self._school.answers(matcher)

    def learn(self, raw: bytes, line: Line) -> None:
        """Look at a line that was read in full; a form that is seen again is learned, a known one is taken.

        One that is no logger's is learned when it is frequent: what it takes to be sure of it costs as much as reading many lines.
        """
        body = body_of(raw, line)
        if not body or self._count >= FORMS or len(self._tried) >= TRIES or not (line.instant.known or self.untimed):
            return
        skeleton = skeleton_of(raw, body)
        seen = self._tried.get(skeleton, 0)
        if seen > 1:
            return
        prefix, ripe = self._school.known(skeleton, raw), seen == 1
        if is_sure(line):
            self._tried[skeleton] = seen + 1
        elif prefix is None:
            ripe = self._school.count(skeleton) == OFTEN
        if prefix is None and ripe:
            prefix = self._school.examine(skeleton, raw, body)
        if prefix is not None:
            self._tried[skeleton] = 2
            self._take(prefix)

    def _take(self, prefix: Prefix) -> None:
        found = self._prefixes.get(prefix.pattern)
        if found is None:
            found = self._prefixes[prefix.pattern] = evolve(prefix, tails=[], settled=set())
        found.least = min(found.least, prefix.least)
        found.tails += [tail for tail in prefix.tails if tail not in found.tails]
        found.settled |= prefix.settled
        self._count += 1
        self._grown = True

    # ---- reading

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
        self.plains[who] = line.without_text()
        if not row[0] or not body_of(row[0][:-1], line):
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
        """Make the regexes anew; those of forms known before keep the numbers of their groups. Lines without a time have none."""
        prefixes = [prefix for prefix in self._prefixes.values() if prefix.timed]
        if not prefixes:
            return
        parts = [p.pattern + b"(" + b"|".join(t.pattern for t in p.tails) + b")" for p in prefixes]
        heads = rb"(?:" + b"|".join(parts) + rb")" + BEGINS
        self._lines = re.compile(rb"(" + heads + rb"[^\n]{0,%d}+\n)|([^\n]*+\n)" % MESSAGE)
        self._head = re.compile(heads)
        self.shortest = min(p.least for p in prefixes)
        roles = [role for p in prefixes for role in (*p.roles, "who")]
        groups = accumulate(len(p.roles) + 1 for p in prefixes)
        self.settled = {(group, tail) for group, p in zip(groups, prefixes, strict=True) for tail in p.settled}
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
