"""Advice about several rules together."""

from __future__ import annotations

import pytest
from advising import EVENTS, LAST, advice, codes, text_of


def other(meta: str = "", steps: str = "  require lost", *, events: str = EVENTS, cls: str = "pcie.link_failure") -> str:
    """Return a second rule, with an event of its own."""
    return text_of(steps, name="hardware.pcie.lost", cls=cls, meta=meta, events=events)


def test_two_rules_of_one_record() -> None:
    """Two rules that one record starts are advised about, once, at the second."""
    (found,) = advice(text_of(), other())
    assert found.code == "L0105"
    assert found.message.startswith("one record starts both `hardware.pcie.lost` and `hardware.gpu.lost`")
    assert "GPU has fallen off the bus" in found.hint


def test_two_rules_of_one_building_block() -> None:
    """A shared trigger needs no example to be known as one."""
    used = [
        "language 1\nuse lib.nvrm.fell_off_bus\n" + text.removeprefix("language 1\n")
        for text in (text_of("  require fell_off_bus", events=""), other(steps="  require fell_off_bus", events=""))
    ]
    assert "L0105" in codes(*used)


ANY = """
  event lost error in kernel "NVRM: Xid (PCI:{device:pci}): {code:int},"
    like "NVRM: Xid (PCI:0000:41:00): 79, pid=1"
"""


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (text_of(meta="  causes pcie.link_failure\n"), other()),
        (text_of(), other("  causes gpu.fell_off_bus\n")),
        (text_of(), other('  see "hardware.gpu.lost" because "the bridge says so"\n')),
        (text_of(), other(steps="  require lost\n  unless seen where job == lost.job", events=LAST)),
        (text_of(), other(events=EVENTS.replace("79", "31").replace("has fallen off the bus", "page fault"))),
        (text_of("  require lost where code == 79", events=ANY), other(steps="  require lost where code == 31", events=ANY)),
    ],
    ids=["causes", "is caused", "see", "unless", "another record", "another code"],
)
def test_two_rules_that_are_told_apart(one: str, two: str) -> None:
    """A relation, a guard, another record or another value of a capture tells two rules apart."""
    assert "L0105" not in codes(one, two)


def test_narrower_rule_is_a_rival_too() -> None:
    """A rule that takes every code starts with the record of the one that takes a single code."""
    assert "L0105" in codes(text_of("  require lost where code == 79", events=ANY), other(events=ANY))


def test_see_names_a_rule() -> None:
    """`see` names a rule of the set or one that is known to exist."""
    see = '  see "hardware.gpu.gone" because "it is gone"\n'
    (found,) = advice(text_of(meta=see))
    assert (found.code, "`hardware.gpu.gone`" in found.message) == ("L0109", True)
    assert advice(text_of(meta=see), known=frozenset({"denpex:hardware.gpu.gone"})) == []
    assert "L0109" not in codes(text_of(meta=see.replace('gone" b', 'lost" b')))
    assert [d.code for d in advice(text_of(meta=see.replace("hardware", "acme:hardware")))] == ["L0109"]
