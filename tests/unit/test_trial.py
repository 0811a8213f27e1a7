"""Trials: what the examples of an event show."""

from __future__ import annotations

from desks import RULE

from denpex_rules.errors import Source
from denpex_rules.library import check_text
from denpex_rules.parser import parse
from denpex_rules.trial import Trials
from denpex_rules.values import BUILTIN

TEXT = """language 1
rule a.b {
  title "x"
  class gpu.fell_off_bus
  event seen error in rank any("step {step:int} of {what:text} end", "code {code:hex}")
    unlike "step x of y end"
    like   "step 7 of a long thing end"
    like   "[rank3] code 0xff"
    like   "INFO step 7 of y end"
    like   "code none"
    unlike "code 12"
  per job within 2h
  require seen
  do "nothing"
}
"""


def results(trials: Trials, text: str, start: int = 0, end: int = 10_000) -> list[tuple[bool, str]]:
    """Return how the examples of a text come out."""
    loaded, _ = check_text(text)
    events = loaded.events if loaded is not None else ()
    return [(one.sound, one.shown) for one in trials.of(parse(Source("<text>", text)), events, BUILTIN, start, end)]


def test_what_examples_show() -> None:
    """A `like` line shows its values or why it is not the event, an `unlike` line that it is refused or that it is not."""
    assert results(Trials(), TEXT) == [
        (True, "step = 7, what = a long thing"),
        (True, "code = 255"),
        (False, "not the event: the line is read as info, below error"),
        (False, "not the event: the pattern is not in it"),
        (True, "refused: the pattern is not in it"),
        (False, "not refused: it is the event"),
    ]


def test_only_what_is_asked_for() -> None:
    """Examples outside of the range are left out."""
    place = TEXT.index('"[rank3]') + 1
    assert results(Trials(), TEXT, place, place) == [(True, "code = 255")]


def test_a_long_value_is_cut() -> None:
    """A value that would fill the line ends with an ellipsis."""
    text = TEXT.replace("a long thing", "x" * 200)
    assert results(Trials(), text)[0][1] == f"step = 7, what = {'x' * 59}…"


def test_a_pattern_that_is_none() -> None:
    """An event whose regex is not linear shows nothing."""
    assert results(Trials(), TEXT.replace('"code {code:hex}"', "/(?=x)code/")) == []


def test_an_event_without_captures() -> None:
    """Its examples say that they are the event."""
    text = RULE.partition("  event")[0].replace("use lib.calls.timeout, lib.calls.loss as progress\n", "")
    text += '  event seen in rank "it is over"\n    like "it is over now"\n  per job within 2h\n  require seen\n}\n'
    assert results(Trials(), text) == [(True, "the event")]
