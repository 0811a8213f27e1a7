"""Marked lines read in full: as their sources' lines are read."""

from __future__ import annotations

import pytest
from making import template

from denpex_rules.clock import whole_seconds
from denpex_rules.compiler import compile_rules
from denpex_rules.formats import peel
from denpex_rules.record import NO_HINTS, Hints, Line
from denpex_rules.rereading import Rereader, digits_alike
from denpex_rules.retain import Marked
from denpex_rules.rule import Alternative, Event, RuleSet, Sequence
from denpex_rules.scanner import SourceScanner
from denpex_rules.sighting import Emitter


def event(name: str, text: str) -> Event:
    return Event(name, name, (Alternative((Sequence((template(text),)),)),))


PROGRAM = compile_rules(RuleSet((), (event("step", "step {n:int} done"), event("lost", "peer"), event("both", "step"))))
PLACES = [0, 2]
STEP = b"[rank3]: 2026-11-30 10:00:07,125 ERROR step %d done"


def marked(raw: bytes, number: int = 5) -> Marked:
    return Marked(raw, number, 400, whole_seconds(peel(raw).instant), (0, 2), bad=True)


@pytest.mark.parametrize("end", [b"", b"\r", b" " + b"x" * 3_000, b" [=>  ]\r[==> ]"])
def test_sightings_are_those_of_the_line_alone(end: bytes) -> None:
    """Who, when, captures and the text that is shown, in short lines and long ones, drawn twice or not."""
    raw = STEP % 7 + end
    scanner = SourceScanner(PROGRAM, "x.log")
    scanner.feed(raw + b"\n")
    wanted = scanner.close().sightings
    found = Rereader(PROGRAM.matcher, peel).sightings(marked(raw, 1), NO_HINTS, Emitter("x.log", "rank3"), PLACES)
    assert [(s.event, s.fields, s.text, s.instant, s.actor, s.severity) for s in found] == [
        (s.event, s.fields, s.text, s.instant, s.actor, s.severity) for s in wanted
    ]
    assert {(s.line, s.start, s.end) for s in found} == {(1, 400, 400 + len(raw))}


def test_an_event_that_shows_nothing_is_not_matched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines alike but for digits show it too; one with captures is matched on each."""
    reader, tried = Rereader(PROGRAM.matcher, peel), []
    pattern = PROGRAM.matcher.pattern
    monkeypatch.setattr(PROGRAM.matcher, "pattern", lambda place: tried.append(place) or pattern(place))
    told = [reader.sightings(marked(STEP % n, n), NO_HINTS, Emitter("x"), PLACES) for n in (7, 8)]
    assert [[s.fields for s in one] for one in told] == [[{"n": 7}, {}], [{"n": 8}, {}]]
    assert tried == [0, 2, 0]


def test_lines_are_read_once() -> None:
    """One that was read already is not read again."""

    def refuse(raw: bytes, hints: Hints) -> Line:
        raise AssertionError(raw, hints)

    line = peel(STEP % 7)
    kept = Marked(STEP % 7, 5, 400, whole_seconds(line.instant), (0,), line=line)
    assert Rereader(PROGRAM.matcher, refuse).piece(kept, NO_HINTS).line is line


def test_errors_that_differ_in_digits_have_one_template() -> None:
    """But where a digit may make a number hexadecimal, each is looked at."""
    reader = Rereader(PROGRAM.matcher, peel)
    templates = {reader.template(marked(STEP % n), NO_HINTS) for n in (7, 8, 1234)}
    assert templates == {"#-#-# #:#:#,# ERROR step # done"}
    assert digits_alike(STEP)
    assert not digits_alike(b"at 0x41")
