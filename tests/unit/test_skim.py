"""Screens: which lines of a block are read in full, and what plain ones are marked with."""

from __future__ import annotations

from making import template

from denpex_rules.compiler import compile_rules
from denpex_rules.formats import peel
from denpex_rules.forms import OFTEN, Forms
from denpex_rules.rule import Alternative, Event, Rule, RuleSet, Sequence, Step
from denpex_rules.skim import Screen

PREFIX = b"[default3]:2026-11-30 10:00:07,125 INFO "


def event(name: str, text: str) -> Event:
    return Event(name, name, (Alternative((Sequence((template(text),)),)),))


STEP, XID, SCALE = event("step", "step {n:int} done"), event("xid", "Xid 79"), event("scale", "scale {x:float}")
RULE = Rule("r", "p", "t", "c", ("job",), 1, (Step("require", "step", "step"),))
PROGRAM = compile_rules(RuleSet((RULE,), (STEP, XID, SCALE)))


def screened(*messages: bytes) -> tuple[list[bytes], dict[bytes, tuple[str, ...]]]:
    """Return the messages that are read in full, and the events that mark others."""
    forms = Forms(peel)
    for _ in range(2):
        forms.learn(PREFIX + b"hello", peel(PREFIX + b"hello"))
    forms.refresh()
    block = b"".join(PREFIX + message + b"\n" for message in messages)
    found = Screen(PROGRAM.matcher, forms, peel).look(block)
    names = [e.id for e in PROGRAM.matcher.events]

    def message(start: int) -> bytes:
        return block[start : block.index(b"\n", start)].removeprefix(PREFIX)

    return [message(start) for start, _ in found.full], {
        message(at): tuple(names[p] for p in places) for at, places in found.marks.items()
    }


def test_lines_without_any_literal_are_passed_over() -> None:
    """A block in which nothing stands that anyone asks for."""
    assert screened(b"hello", b"nothing of interest") == ([], {})


def test_an_event_that_is_blind_to_digits_is_marked() -> None:
    """All lines of a shape have one answer; a line with the literal and without the match has none."""
    assert screened(b"step 1 done", b"step 2 done", b"step x done") == ([], {b"step 1 done": ("step",), b"step 2 done": ("step",)})


def test_a_line_that_digits_decide_is_read() -> None:
    """The text of an event with digits of its own is looked at each time; a number that may be too large, in full."""
    found = screened(b"Xid 79 seen", b"Xid 78 seen", b"scale 1e999", b"scale 1e5")
    assert found == ([b"scale 1e999"], {b"Xid 79 seen": ("xid",), b"scale 1e5": ("scale",)})


def test_a_line_that_asks_for_care_is_read() -> None:
    """An escape, a second record, JSON behind the prefix; a carriage return before the newline asks for none."""
    special = [b"a\x1b[0m", b"10it/s]x", b'x {"a": 1}', b"x [rank0]: y", b"a\rb"]
    assert screened(*special, b"plain\r") == (special, {})


def test_words_of_an_error_ask_for_care_where_no_logger_tells_the_level() -> None:
    """Behind a logger's own level the same words are only words."""
    assert screened(b"RuntimeError: x") == ([], {})
    bare = b"2026-11-30 10:00:07 shard index "
    forms = Forms(peel)
    for _ in range(OFTEN + 1):
        forms.learn(bare + b"3", peel(bare + b"3"))
    forms.refresh()
    block = bare + b"of RuntimeError: x\n" + bare + b"4\n"
    assert Screen(PROGRAM.matcher, forms, peel).look(block).full == [(0, block.index(b"\n") + 1)]


def test_an_event_that_occurs_twice_is_read() -> None:
    """A mark stands for one sighting."""
    assert screened(b"step 1 done step 2 done") == ([b"step 1 done step 2 done"], {})


def test_an_answer_for_all_lines_of_a_shape() -> None:
    """It holds for all unless an event that sees digits may match with others, or a number may be too large for a float."""
    matcher = PROGRAM.matcher
    screen = Screen(matcher, Forms(peel), peel)
    places = {name: matcher.place[name] for name in ("step", "xid", "scale")}
    assert screen.is_general(PREFIX + b"step 1 done", b"step 1 done", {places["step"]})
    assert not screen.is_general(PREFIX + b"Xid 7 seen", b"Xid 7 seen", {places["xid"]})
    assert screen.is_general(PREFIX + b"Xid none", b"Xid none", {places["xid"]})
    assert not screen.is_general(PREFIX + b"scale 1e999", b"scale 1e999", {places["scale"]})
