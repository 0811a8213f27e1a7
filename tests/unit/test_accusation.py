"""Blame, onset, reporters, victims and texts."""

from __future__ import annotations

import pytest
from writing import codes, rule_of, text_of

from denpex_rules.clock import SECOND
from denpex_rules.rule import Anchor, Blame, Call, LookUp, Path, Role, Text, Verify

STEPS = """
  require lost
  let bad = rank_of(lost.host, lost.device)
  let odd = odd_one_out(lost.rank)
  confirm timeout after lost
  unless progress after lost
"""


def test_blame_alternatives() -> None:
    """Alternatives keep order, certainty, conditions and `each`; `none` accuses nobody."""
    rule = rule_of(
        STEPS + "  blame each device lost.device, host lost.host else rank odd likely when timeout and lost else none",
    )
    device, host = Role("device", Path("lost", "device")), Role("host", Path("lost", "host"))
    assert rule.blame == (
        Blame((device, host), "certain", (), each=True),
        Blame((Role("rank", Path("odd")),), "likely", ("timeout", "lost")),
        Blame(()),
    )


def test_blame_by_a_function() -> None:
    """A role's value may be a built-in."""
    rule = rule_of(STEPS + "  blame rank first_silent(timeout)")
    assert rule.blame[0].roles[0].value == Call("first_silent", (Path("timeout"),))


def test_onset() -> None:
    """Onset takes look-ups around an anchor and plain instants, in order."""
    rule = rule_of(STEPS + "  onset last progress where rank == bad before lost - 5s else timeout.stalled")
    progress = "denpex:hardware.gpu.lost#progress"
    look_up, anchor = rule.onset
    assert isinstance(look_up, LookUp)
    assert (look_up.pick, look_up.event, look_up.relation) == ("last", progress, "before")
    assert look_up.anchor == Anchor("lost", terms=((-1, 5 * SECOND),))
    assert look_up.where[0].right == Path("bad")
    assert anchor == Anchor("timeout", "stalled")


def test_texts() -> None:
    """Placeholders become paths; doubled braces are literal."""
    rule = rule_of(STEPS + '  why "{lost.device} of {{x}} rank {bad}"\n  verify "nvidia-smi -i {lost.device}" on lost.host')
    assert rule.why == Text((Path("lost", "device"), " of {x} rank ", Path("bad")))
    assert rule.verify == (Verify(Text(("nvidia-smi -i ", Path("lost", "device"))), Path("lost", "host")),)


def test_actors() -> None:
    """Reporters and victims are fields of steps that name somebody."""
    rule = rule_of(STEPS + "  victim timeout.rank, timeout.host\n  reporter timeout.rank")
    assert rule.victims == (Path("timeout", "rank"), Path("timeout", "host"))
    assert rule.reporters == (Path("timeout", "rank"),)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("blame rank 3", "E0302"),
        ("blame rank lost.host", "E0302"),
        ("blame host lost.device", "E0302"),
        ("blame device lost.rank", "E0302"),
        ("blame rank lost.rank, rank odd", "E0405"),
        ("blame rank nobody", "E0201"),
        ("blame rank odd when nothing", "E0201"),
        ("blame rank odd when progress", "E0201"),
        ("blame none else rank odd", "E0410"),
        ("blame rank odd else rank odd likely", "E0410"),
        ("onset lost else lost", "E0410"),
        ("onset last nothing before lost", "E0201"),
        ("onset next progress before lost", "E0406"),
        ("onset last progress where rank == lost.host before lost", "E0302"),
        ("victim timeout", "E0204"),
        ("victim bad", "E0204"),
        ("victim timeout.what", "E0302"),
        ('why "{lost}"', "E0603"),
        ('why "{nobody}"', "E0603"),
        ('why "{lost.nothing}"', "E0603"),
        ('why "{progress.step}"', "E0603"),
        ('why "{a.b.c}"', "E0603"),
        ('do "{timeout.stalled}"', "E0603"),
        ('do "{"', "E0106"),
        ('verify "x" on lost.device', "E0302"),
        ('verify "x" on 5', "E0302"),
    ],
)
def test_mistakes(statement: str, code: str) -> None:
    """Each mistake in a report statement has its code, and only that."""
    assert codes(text_of(f"{STEPS}  {statement}")) == [code]


def test_report_statements_may_stand_above_the_steps() -> None:
    """What is said about a match sees all its steps, wherever it is written."""
    assert codes(text_of('  blame device lost.device\n  why "{lost.device}"\n' + STEPS)) == []
