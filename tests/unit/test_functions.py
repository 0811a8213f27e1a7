"""The table of built-in functions that rules may call."""

from __future__ import annotations

import pytest

from denpex_rules.functions import FUNCTIONS, Signature
from denpex_rules.values import ACTOR_FIELDS, BUILTIN

BASES = {kind.base for kind in BUILTIN.values()} | set(ACTOR_FIELDS.values())


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_signature(function: Signature) -> None:
    """Every function takes and gives bases that captures have, or a step or capture by name, and says what it does."""
    assert FUNCTIONS[function.name] is function
    assert function.overloads
    assert {base for arguments in function.overloads for base in arguments} <= BASES | {"step", "capture"}
    assert function.result in BASES
    assert function.summary


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_overloads_are_distinct(function: Signature) -> None:
    """Arguments choose at most one overload."""
    assert len(set(function.overloads)) == len(function.overloads)


def test_attribution_gives_actors() -> None:
    """What a function gives can stand in `blame`: a rank, several ranks, a host or a device."""
    assert {function.result for function in FUNCTIONS.values()} <= {"rank", "ranks", "host", "device"}
