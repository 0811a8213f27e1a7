"""The recorder: lines that were read, in; sightings, error records and coverage, out."""

from __future__ import annotations

import copy

from making import template

from denpex_rules.compiler import compile_rules
from denpex_rules.formats import peel
from denpex_rules.lines import PhysicalLine
from denpex_rules.record import NO_HINTS
from denpex_rules.recorder import Recorder, Size, State
from denpex_rules.rule import Alternative, Event, Rule, RuleSet, Sequence, Step

DIED = Event("died", "died", (Alternative((Sequence((template("rank {r:rank} died"),)),)),))
RULE = Rule("r", "p", "t", "c", ("job",), 1, (Step("require", "died", "died"),))
PROGRAM = compile_rules(RuleSet((RULE,), (DIED,)))


def recorder(*lines: bytes) -> Recorder:
    """Return a recorder that took these lines of one file."""
    one = Recorder(PROGRAM, "a.log", State(NO_HINTS, PROGRAM.lookups), peel)
    start, taken = 0, []
    for number, data in enumerate(lines, 1):
        taken.append(PhysicalLine(number, start, start + len(data), data))
        start += len(data) + 1
    one.take(taken)
    return one


def test_a_record_is_seen_when_it_is_complete() -> None:
    """The last record stays open until it is finished; a copy of the state goes its own way."""
    one = recorder(b"2026-11-30 10:00:00 INFO rank 3 died", b"2026-11-30 10:00:01 INFO x", b"2026-11-30 10:00:02 INFO rank 4 died")
    assert [s.fields["r"] for s in one.scan(None).sightings] == [3]
    twin = Recorder(PROGRAM, "a.log", copy.deepcopy(one.state), peel)
    twin.finish_all()
    assert [s.fields["r"] for s in twin.scan(None).sightings] == [3, 4]
    assert [s.fields["r"] for s in one.scan(None).sightings] == [3]


def test_sightings_of_one_emitter_share_it() -> None:
    """A million sightings of few emitters hold few of them."""
    one = recorder(*(b"[rank%d]: 2026-11-30 10:00:00 INFO rank 3 died" % (i % 2) for i in range(4)))
    one.finish_all()
    emitters = [s.emitter for s in one.scan(None).sightings]
    assert len(emitters) == 4
    assert len({id(e) for e in emitters}) == len({*emitters}) == 2


def test_what_is_kept_is_counted_and_bounded() -> None:
    """Sightings, error records and runs; a smaller limit holds from then on."""
    one = recorder(*(b"2026-11-30 10:%02d:00 ERROR rank %d died of %s" % (i, i, bytes([97 + i]) * 3) for i in range(9)))
    one.finish_all()
    assert one.size == Size(9, 9, 9)
    one.shrink(Size(4, 2, 4))
    assert (one.size.sightings, one.size.errors) == (4, 2)
    assert one.size.runs <= 4
    assert [(d.event, d.count) for d in one.scan(None).sources[0].dropped] == [("died", 5)]


def test_an_error_record_is_kept_with_its_first_line_as_ordinal() -> None:
    """It shares the ordinal with the sightings of the same record, and shows the line that says what it is about."""
    one = recorder(b"Traceback (most recent call last):", b'  File "x.py", line 3', b"ValueError: rank 7 died")
    one.finish_all()
    scan = one.scan(5)
    assert [(e.ordinal, e.line, e.text) for e in scan.errors] == [(1, 3, "ValueError: rank 7 died")]
    assert [(s.ordinal, s.line) for s in scan.sightings] == [(1, 3)]
    assert scan.sources[0].mtime == 5
