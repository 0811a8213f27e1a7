"""Events: patterns, captures, types, moments."""

from __future__ import annotations

import pytest
from writing import codes, text_of

from denpex_rules.clock import SECOND
from denpex_rules.library import load_text
from denpex_rules.rule import Event, Regex


def event_of(text: str) -> Event:
    """Return the event of a file that holds one."""
    return next(e for e in load_text(f"language 1\n{text}\n").events if e.id.startswith("denpex:text#"))


def test_severity_kinds_and_flags() -> None:
    """What stands between the name and the pattern is kept."""
    event = event_of('identity event who error in kernel, agent expensive "a b c" like "x" unlike "y" like "z"')
    assert (event.severity, event.kinds, event.identity, event.expensive) == ("error", ("kernel", "agent"), True, True)
    assert (event.like, event.unlike) == (("x", "z"), ("y",))
    assert event_of('event a "abc"').severity is None


def test_shapes_of_patterns() -> None:
    """`any` gives alternatives, `all` sequences of one alternative, `&` parts of one sequence."""
    event = event_of('event a any("p" & "q", /r/, all("s", "t" & "u"))')
    assert [[len(s.parts) for s in a.sequences] for a in event.alternatives] == [[2], [1], [1, 2]]
    assert [[len(s.parts) for s in a.sequences] for a in event_of('event a all("s", "t")').alternatives] == [[1, 1]]


def test_regex_captures_and_types() -> None:
    """Named groups are captures of the type that `with` gives, else text; escaped and bracketed parentheses are none."""
    event = event_of(r"event a /(?P<n>\d+) \(?P<no>x [(?P<nor>] (?P<m>\w+)\/x/ with n: int")
    assert event.captures == (("n", "int"), ("m", "text"))
    part = event.alternatives[0].sequences[0].parts[0]
    assert isinstance(part, Regex)
    assert part.text.endswith(r"(?P<m>\w+)/x")
    assert part.types == (("n", "int"), ("m", "text"))


def test_moments() -> None:
    """A moment is the line's time plus signed durations, captured or fixed."""
    (moment,) = event_of('event a "ran {ran:ms} of {limit:hms} end" moment began = time - ran + limit - 5s').moments
    assert moment.terms == ((-1, "ran"), (1, "limit"), (-1, 5 * SECOND))


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ('event a "x {n:int} y {n:int}"', "E0202"),
        ('event a any("x {n:int}", "y {n:hex}")', "E0307"),
        ('event a "rank {rank:group_rank} x"', "E0308"),
        ('event a "{time:word} x"', "E0207"),
        ('event a "x" with n: int', "E0204"),
        ("event a /(?P<n>x)/ with n: int with n: hex", "E0405"),
        ('event a "x" moment m = time - n', "E0204"),
        ('event a "x {n:int}" moment m = time - n', "E0302"),
        ('event a "x {n:ms}" moment n = time - n', "E0202"),
        ('event a "x" moment m = time + 5', "E0303"),
        ('event a "x" moment m = time + 4000d', "E0305"),
        ('event a in kernel, kernel "x"', "E0202"),
        ('event a in disk "x"', "E0602"),
        ('event unless "x"', "E0207"),
    ],
)
def test_mistakes(event: str, code: str) -> None:
    """Each mistake in an event has its code, and only that."""
    assert codes(f"language 1\n{event}\n") == [code]


def test_own_events_are_named_by_their_rule() -> None:
    """The id of a rule's event is its pack, rule and name, so that two rules may use one name."""
    found = load_text(text_of("  require lost") + text_of("  require lost").replace("gpu.lost", "gpu.gone").split("\n", 1)[1])
    ids = {e.id for e in found.events if e.name == "lost" and "hardware" in e.id}
    assert ids == {"denpex:hardware.gpu.lost#lost", "denpex:hardware.gpu.gone#lost"}


def test_long_open_class_in_a_regex_is_read_in_linear_time() -> None:
    """A regex of brackets that never close is looked through once."""
    assert codes("language 1\nevent a /" + "[" * 50_000 + "/\n") == []
