"""Small look-ups of the rule model."""

from __future__ import annotations

import pytest
from attrs import evolve

from denpex_rules.clock import HOUR
from denpex_rules.errors import Span
from denpex_rules.rule import SILENCE, Alternative, Event, LookUp, Moment, Path, Rule, RuleSet, Sequence, Step, Template


def make_event(name: str) -> Event:
    """Return an event with one capture and one moment."""
    pattern = (Alternative((Sequence((Template(("ran for ",)),)),)),)
    return Event(f"x.{name}", name, pattern, captures=(("ran", "ms"),), moments=(Moment("stalled", ((-1, "ran"),)),))


def make_rule(*steps: Step) -> Rule:
    """Return a rule of the pack `denpex` with these steps."""
    return Rule("hardware.gpu.lost", "denpex", "A title", "gpu.fell_off_bus", ("job",), HOUR, steps)


def test_trigger_is_the_first_required_step() -> None:
    """The trigger is the first `require`, wherever other steps stand."""
    steps = [Step(verb, name, "x.lost") for verb, name in (("confirm", "a"), ("require", "b"), ("unless", "c"), ("require", "d"))]
    rule = make_rule(*steps)
    assert rule.trigger.name == "b"
    assert [step.name for step in rule.required] == ["b", "d"]


def test_qualified_name() -> None:
    """A rule is called by pack and path."""
    assert make_rule().qualified == "denpex:hardware.gpu.lost"


def test_events_of_a_rule() -> None:
    """Steps and look-ups name events, each counted once in written order; silence is none."""
    steps = (
        Step("require", "a", "x.lost"),
        Step("confirm", "b", SILENCE),
        Step("unless", "c", "x.step"),
        Step("confirm", "d", "x.lost"),
    )
    rule = evolve(make_rule(*steps), onset=(LookUp("last", "x.step"), LookUp("first", "x.start")))
    assert rule.events == ("x.lost", "x.step", "x.start")


def test_event_look_ups() -> None:
    """Captures and moments are found by name; what an event lacks is None."""
    event = make_event("timeout")
    assert event.capture_type("ran") == "ms"
    assert event.capture_type("other") is None
    moment = event.moment("stalled")
    assert moment is not None
    assert moment.terms == ((-1, "ran"),)
    assert event.moment("other") is None


def test_rule_set_finds_events() -> None:
    """An event is found by its id; an unknown id is an error, not another event."""
    rules = RuleSet((), (make_event("a"), make_event("b")))
    assert rules.event("x.b").name == "b"
    with pytest.raises((KeyError, StopIteration)):
        rules.event("x.c")


def test_equality_ignores_places() -> None:
    """Two rules with the same meaning are equal wherever their text stands."""
    assert Path("lost", "device", Span("a.rule", 1, 1, 0, 4)) == Path("lost", "device", Span("b.rule", 9, 2, 80, 84))
    assert Path("lost", "device") != Path("lost", "host")
