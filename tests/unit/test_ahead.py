"""What took lines ahead is asked for what it knows before a recorder needs it."""

from __future__ import annotations

from making import template

from denpex_rules.ahead import NoneAhead
from denpex_rules.compiler import compile_rules
from denpex_rules.formats import peel
from denpex_rules.lines import PhysicalLine
from denpex_rules.record import NO_HINTS
from denpex_rules.recorder import Recorder, Size, State
from denpex_rules.rule import Alternative, Event, Rule, RuleSet, Sequence, Step

DIED = Event("died", "died", (Alternative((Sequence((template("rank {r:rank} died"),)),)),))
RULE = Rule("r", "p", "t", "c", ("job",), 1, (Step("require", "died", "died"),))
PROGRAM = compile_rules(RuleSet((RULE,), (DIED,)))


class Told:
    """Lines that were taken elsewhere: notes what is asked for."""

    def __init__(self, marks: int, runs: int) -> None:
        self.marks, self.runs = marks, runs
        self.asked: list[tuple[str, ...]] = []

    def settle(self, label: str) -> None:
        """Note it."""
        self.asked.append(("settle", label))

    def settle_row(self, event: str, label: str) -> None:
        """Note it."""
        self.asked.append(("settle_row", event, label))

    def settle_marks(self) -> None:
        """Note it."""
        self.asked.append(("settle_marks",))

    def settle_all(self) -> None:
        """Note it."""
        self.asked.append(("settle_all",))

    def finish_all(self) -> None:
        """Note it."""
        self.asked.append(("finish_all",))


def recorder(ahead: Told | NoneAhead) -> Recorder:
    """Return a recorder that took two lines of one rank behind such lines."""
    one = Recorder(PROGRAM, "a.log", State(NO_HINTS, PROGRAM.lookups), peel)
    one.ahead = ahead
    for number in (1, 2):
        data = b"[rank3]: 2026-11-30 10:00:0%d INFO rank %d died" % (number, number)
        one.take([PhysicalLine(number, 100 * number, 100 * number + len(data), data)])
    return one


def test_each_is_asked_before_it_is_needed() -> None:
    """An emitter before its next line is placed, a row before it grows, everything before the end and a tighter bound."""
    ahead = Told(5, 7)
    one = recorder(ahead)
    assert ahead.asked == [("settle", "rank3"), ("settle", "rank3"), ("settle_row", "died", "rank3")]
    assert one.size == Size(6, 0, 8)
    ahead.asked.clear()
    one.finish_all()
    assert ahead.asked == [("finish_all",), ("settle_row", "died", "rank3")]
    ahead.asked.clear()
    one.shrink(Size(100, 100, 100))
    assert ahead.asked == [("settle_marks",), ("settle_all",)]


def test_without_lines_ahead_nothing_is_added() -> None:
    """What is kept is what the recorder took itself."""
    one = recorder(NoneAhead())
    one.finish_all()
    one.shrink(Size(100, 100, 100))
    assert one.size == Size(2, 0, 1)
    assert len(one.scan(None).sightings) == 2
